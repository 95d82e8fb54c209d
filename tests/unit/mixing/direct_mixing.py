"""Direct computation of mixing ratios, for comparison.

It uses the published formulas and builds the tensor heads x tokens x tokens x width.
"""

from typing import Any

import torch
from torch import nn

from ops.model.attention_modules import AttentionModules, attention_modules


class DirectMixing:
    """A literal implementation of Kobayashi 2021's formulas in one forward pass with transformers' eager attention.

    It supports BERT-like models and DistilBERT, whose value matrix is a separate module.

    Args:
        model: a model as `AutoModel` loads it; its attention is switched to transformers' eager attention.
        model_type: the architecture's name in transformers.
        layers: number of the model's layers.
    """

    def __init__(self, model: nn.Module, model_type: str, layers: int) -> None:
        self.points = attention_modules(model, model_type, layers)
        untyped: Any = model
        untyped.set_attn_implementation("eager")
        self.model = model

    @torch.inference_mode()
    def read(self, inputs: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        """Return each layer's ratios at the three stages, then the norms, `[sentences, tokens, 7]` float32."""
        found: list[torch.Tensor] = []
        handles = []
        for point in self.points:
            handles += _watch(point, found)
        try:
            self.model(**inputs)
        finally:
            for handle in handles:
                handle.remove()
        return found


def _watch(point: AttentionModules, found: list[torch.Tensor]) -> list[Any]:
    seen: dict[str, torch.Tensor] = {}
    value = getattr(point.attention, "value", None) or point.attention.v_lin
    assert isinstance(value, nn.Module)

    def attention(module: nn.Module, args: Any, output: Any) -> None:
        seen["alpha"] = output[1]

    def norm(module: nn.Module, args: Any, output: torch.Tensor) -> None:
        found.append(direct(seen["x"], seen["value"], seen["alpha"], point, args[0]))

    assert point.norm is not None
    return [
        point.residual.register_forward_pre_hook(lambda module, args: seen.update(x=args[0])),
        value.register_forward_hook(lambda module, args, output: seen.update(value=output)),
        point.attention.register_forward_hook(attention),
        point.norm.register_forward_hook(norm),
    ]


def direct(
    x: torch.Tensor, value: torch.Tensor, alpha: torch.Tensor, point: AttentionModules, whole: torch.Tensor
) -> torch.Tensor:
    """Return one layer's ratios and norms.

    Args:
        x: the residual, `[sentences, tokens, width]`.
        value: x W_V + b_V, `[sentences, tokens, width]`.
        alpha: the attention weights, `[sentences, heads, tokens, tokens]`.
        point: the layer.
        whole: the input of the LayerNorm.
    """
    heads, width = alpha.shape[1], x.shape[-1]
    values = value.unflatten(-1, (heads, -1)).transpose(1, 2)
    matrix: Any = point.projection.weight
    transformed = torch.einsum("bhkv,hvd->bhkd", values, matrix.T.reshape(heads, -1, width))
    weighted = torch.einsum("bhqk,bhkd->bhqkd", alpha, transformed)
    pairs = weighted.sum(1)
    own = torch.eye(x.shape[1], dtype=torch.bool, device=x.device)
    preserving = pairs[:, own]
    mixing = pairs.masked_fill(own[:, :, None], 0).sum(2)
    norm: Any = point.norm
    deviation = (whole.var(-1, correction=0, keepdim=True) + norm.eps).sqrt()

    gain: torch.Tensor = norm.weight / deviation

    def normalised(v: torch.Tensor) -> torch.Tensor:
        return (v - v.mean(-1, keepdim=True)) * gain

    ratios = [(mixing, preserving), (mixing, preserving + x), (normalised(mixing), normalised(preserving + x))]
    found = [m.norm(dim=-1) / (m.norm(dim=-1) + p.norm(dim=-1)) for m, p in ratios]
    norms = [v.norm(dim=-1) for v in (mixing, preserving, x, normalised(x))]
    return torch.stack([*found, *norms], -1)
