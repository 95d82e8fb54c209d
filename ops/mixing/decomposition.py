"""The parts of each token's vector that attention mixes in from other tokens and that it preserves (Kobayashi 2021)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ops.model.attention import attention_weights, use_attention
from ops.model.attention_modules import AttentionModules, attention_modules, bias_of, matrix_of

ATTENTION = "atlas_own_share"
LAYER_STAGES = ("attn", "attn_res", "attn_res_ln")
NORMS = ("attn_mixing", "attn_preserving", "residual", "residual_ln")


def quantities(normalised: bool) -> tuple[str, ...]:
    """Return the names of the measures: ratios by stage, then norms.

    Pre-LN models have no measures after the LayerNorm.
    """
    after_norm = ("attn_res_ln", "residual_ln")
    return tuple(name for name in (*LAYER_STAGES, *NORMS) if normalised or name not in after_norm)


def attend(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **others: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the heads' context and its own part, which is returned in place of transformers' attention weights.

    The own part of token j in head h is alpha_jj^h v_j^h (Kobayashi 2021, the term i = j before W_O). The softmax is
    computed once, and no tensor is larger than heads x tokens x tokens.

    Args:
        query, key, value: `[sentences, heads, tokens, head width]`.
        attention_mask: added to the scores, `[sentences, 1, tokens, tokens]`.
        scaling: the factor of the scores; None means 1 / sqrt(head width).

    Returns:
        The context and its own part, each `[sentences, tokens, heads, head width]`.
    """
    alpha = attention_weights(query, key, attention_mask, scaling)
    own_part = alpha.diagonal(dim1=-2, dim2=-1).unsqueeze(-1) * value
    return (alpha @ value).transpose(1, 2).contiguous(), own_part.transpose(1, 2)


@dataclass(frozen=True)
class Parts:
    """The decomposition of one layer's sum of attention and residual; vectors are `[sentences, tokens, width]` float32.

    The bias b_O of the attention's output belongs to none of the parts.

    Attributes:
        mixing: the contribution of the other tokens, sum over i != j of f(x_i).
        preserving: the own term f(x_j), without the residual.
        residual: the vector x_j of the residual stream.
        norm: the LayerNorm that is applied to the sum; None if there is none.
        whole: the input of this LayerNorm; None if there is none.
    """

    mixing: torch.Tensor
    preserving: torch.Tensor
    residual: torch.Tensor
    norm: nn.LayerNorm | None
    whole: torch.Tensor | None

    def measure(self) -> torch.Tensor:
        """Return the ratios and norms that `quantities` names, `[sentences, tokens, quantities]` float32."""
        kept = self.preserving + self.residual
        mixing, preserving, residual = (_length(v) for v in (self.mixing, self.preserving, self.residual))
        ratios = [_ratio(mixing, preserving), _ratio(mixing, _length(kept))]
        norms = [mixing, preserving, residual]
        if self.norm is not None:
            assert self.whole is not None
            variance = self.whole.float().var(-1, correction=0, keepdim=True)
            gain = self.norm.weight.float() * (variance + self.norm.eps).rsqrt()
            centred = (v - v.mean(-1, keepdim=True) for v in (self.mixing, kept, self.residual))
            mixed, both, alone = (_length(v * gain) for v in centred)
            ratios.append(_ratio(mixed, both))
            norms.append(alone)
        return torch.stack([*ratios, *norms], -1)


class MixingReader:
    """Decomposes every layer's sum of attention and residual in one forward pass.

    The mixing part is the total minus the own part. The own part needs only one more product with W_O and alpha's
    diagonal, so no tensor of size tokens x tokens x width is ever built.

    Args:
        model: a model as `AutoModel` loads it; its attention is replaced by `attend`.
        model_type, layers: the architecture's name in transformers, and the number of layers.

    Raises:
        InputError: the architecture is not known.
    """

    def __init__(self, model: nn.Module, model_type: str, layers: int) -> None:
        from transformers.masking_utils import eager_mask

        self.points = attention_modules(model, model_type, layers)
        use_attention(model, ATTENTION, attend, eager_mask)
        self.model = model

    def read(self, inputs: dict[str, torch.Tensor], take: Callable[[Parts], torch.Tensor]) -> list[torch.Tensor]:
        """Run the model and return `take(parts)` for each layer."""
        taken: list[torch.Tensor] = []
        handles = []
        try:
            for point in self.points:
                handles += _hooks(point, lambda parts: taken.append(take(parts)))
            self.model(**inputs)
        finally:
            for handle in handles:
                handle.remove()
        return taken


def _hooks(point: AttentionModules, give: Callable[[Parts], None]) -> list[Any]:
    """Register hooks that collect one layer's tensors, and give its parts when the last tensor is available."""
    seen: dict[str, torch.Tensor] = {}

    def finish(whole: torch.Tensor | None) -> None:
        preserving = (seen["own"] @ matrix_of(point.projection).T).float()
        mixing = (seen["total"].float() - bias_of(point.projection).float()) - preserving
        residual = seen["residual"].float()
        seen.clear()
        give(Parts(mixing, preserving, residual, point.norm, whole))

    def at_residual(module: nn.Module, args: Any) -> None:
        seen["residual"] = args[0]

    def at_attention(module: nn.Module, args: Any, output: Any) -> None:
        seen["own"] = output[1].flatten(2)
        # If W_O is part of the attention module, its result is already available.
        if point.norm is None:
            finish(None)

    def at_projection(module: nn.Module, args: Any, output: torch.Tensor) -> None:
        seen["total"] = output

    handles = [
        point.residual.register_forward_pre_hook(at_residual),
        point.attention.register_forward_hook(at_attention),
        point.projection.register_forward_hook(at_projection),
    ]
    if point.norm is not None:
        handles.append(point.norm.register_forward_pre_hook(lambda module, args: finish(args[0])))
    return handles


def _length(vectors: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(vectors, dim=-1)  # type: ignore[no-any-return]


def _ratio(mixing: torch.Tensor, preserving: torch.Tensor) -> torch.Tensor:
    both = mixing + preserving
    # If both are 0, nothing is mixed in.
    return torch.where(both == 0, mixing, mixing / both)
