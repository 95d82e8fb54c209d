"""The norm stretch ratio psi of a head's query, key and value projection (Maeda 2024).

It is measured for the word embeddings alone, and for every token of real text during the forward pass.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from ops.model.attention_modules import PROJECTIONS, LayerProjections
from ops.model.batches import pad
from ops.model.tokenizer import Tokens
from ops.reducers.grouped_moments import GroupedSums
from ops.shards import Ids

VALUES = ("psi_q", "psi_k", "psi_v", "psi_qkv")
TOKENS_PER_BLOCK = 4_096  # tokens whose vectors are projected at once


def psi(projected: torch.Tensor, norm: torch.Tensor, width: int) -> torch.Tensor:
    """Return psi(P, x) = (||P x|| / sqrt(d')) / (||x|| / sqrt(d)) of vectors projected by heads (Maeda 2024).

    Args:
        projected: P x without bias, `[..., heads, d']`.
        norm: ||x||, `[...]`.
        width: d, the number of values of x.

    Returns:
        The values of psi, `[..., heads]`; NaN if x is zero.

    >>> x = torch.tensor([3.0, 4.0])
    >>> psi(x.view(1, 2), x.norm(), 2)
    tensor([1.])
    """
    scale = math.sqrt(width / projected.shape[-1])
    stretched = torch.linalg.vector_norm(projected, dim=-1)
    ratio: torch.Tensor = stretched.mul_(scale).div_(norm.unsqueeze(-1))
    return ratio


def with_product(values: torch.Tensor) -> torch.Tensor:
    """Return psi_q, psi_k and psi_v `[..., 3, heads]` followed by their product, psi_qkv: `[..., 4, heads]`."""
    return torch.cat([values, values.prod(-2, keepdim=True)], -2)


@torch.inference_mode()
def static_psi(vectors: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return the psi of every vector in every head of one layer, with one matrix product for each block of tokens.

    Args:
        vectors: x, the word embeddings alone, `[tokens, width]` float32.
        weight: the layer's matrices, `[3, heads, d', width]` float32.

    Returns:
        The values of psi, `[tokens, 4, heads]`, in the order of `VALUES`; NaN if x is zero.
    """
    width = weight.shape[-1]
    flat = weight.reshape(-1, width).T
    blocks = []
    for block in vectors.split(TOKENS_PER_BLOCK):
        projected = (block @ flat).view(len(block), *weight.shape[:3])
        blocks.append(with_product(psi(projected, block.norm(dim=-1).unsqueeze(-1), width)))
    return torch.cat(blocks)


def random_direction(weight: torch.Tensor) -> torch.Tensor:
    """Return the psi of a random direction: the root mean square of psi_q, psi_k and psi_v over all directions.

    The mean of ||P x||^2 over directions of x is ||P||_F^2 ||x||^2 / d, so the mean of psi^2 is ||P||_F^2 / d'. For
    psi_qkv the result is the product of the three root mean squares, which serves as a scale but is not a mean.

    Args:
        weight: a layer's matrices, `[3, heads, d', width]`.

    Returns:
        The psi of a random direction, `[4, heads]`, in the order of `VALUES`.
    """
    return with_product(torch.linalg.vector_norm(weight, dim=(-2, -1)) / math.sqrt(weight.shape[-2]))


class ContextualPsi:
    """Measures psi for the real input of the projections: the output of the layer below, in GPT-2 after normalisation.

    W x is a projection's output minus its bias, so no matrix product is computed again. The layers' projections are
    those that `ops.model.attention_modules` returns for the model.
    """

    def __init__(self, model: nn.Module, layers: list[LayerProjections]) -> None:
        self.model, self.layers = model, layers
        self.heads = layers[0].heads
        self._biases = [layer.bias for layer in layers]

    def read(self, inputs: dict[str, torch.Tensor], real: torch.Tensor) -> torch.Tensor:
        """Run the model and return psi of every real token, `[tokens, layers, 4, heads]` float32.

        Args:
            inputs: the inputs of the model.
            real: which positions are tokens and not padding, `[sentences, longest]` bool; the result has the tokens in
                this order.
        """
        shape = (int(real.sum()), len(self.layers), len(VALUES), self.heads)
        values = torch.empty(shape, dtype=torch.float32, device=real.device)
        handles = []
        try:
            for i, layer in enumerate(self.layers):
                norm: list[torch.Tensor] = []
                each = len(PROJECTIONS) // len(layer.modules)
                for m, module in enumerate(layer.modules):
                    hook = self._hook(i, slice(m * each, (m + 1) * each), values, real, norm)
                    handles.append(module.register_forward_hook(hook))
            self.model(**inputs)
        finally:
            for handle in handles:
                handle.remove()
        torch.prod(values[:, :, : len(PROJECTIONS)], 2, out=values[:, :, len(PROJECTIONS)])
        return values

    @torch.inference_mode()
    def add(self, sent_ids: Ids, tokens: Sequence[Tokens], pad_id: int, sums: GroupedSums) -> list[int]:
        """Add psi of a batch's tokens to sums, and return the ids of sentences skipped because of non-finite values.

        Args:
            sent_ids: the ids of the sentences, `[sentences]`.
            sums: the sums, with layers * 4 * heads columns, on the model's device.
        """
        device = sums.count.device
        ids, real, _ = pad(tokens, pad_id, device)
        values = self.read({"input_ids": ids, "attention_mask": real.long()}, real).flatten(1)
        ids = ids[real]
        finite = torch.isfinite(values).all(1)
        if bool(finite.all()):
            sums.update(ids, values)
            return []
        sentence = torch.nonzero(real)[:, 0]
        good = torch.ones(len(tokens), dtype=torch.bool, device=device)
        good[sentence[~finite]] = False
        sums.update(ids[good[sentence]], values[good[sentence]])
        return [int(i) for i in sent_ids[~good.cpu().numpy()]]

    def _hook(
        self, layer: int, which: slice, values: torch.Tensor, real: torch.Tensor, norm: list[torch.Tensor]
    ) -> Any:
        """Return a hook that writes psi of the projections `which`; a layer's first hook stores ||x|| in `norm`."""
        bias = self._biases[layer][which]

        def hook(module: nn.Module, args: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
            x = args[0]
            if not norm:
                norm.append(torch.linalg.vector_norm(x[real].float(), dim=-1).view(-1, 1))
            projected = output[real].float().view(-1, *bias.shape).sub_(bias)
            values[:, layer, which] = psi(projected, norm[0], x.shape[-1])

        return hook
