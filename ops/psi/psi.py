"""The norm stretch ratio psi of a head's query, key and value projection (Maeda 2024)."""

import math

import torch

VALUES = ("psi_q", "psi_k", "psi_v", "psi_qkv")
TOKENS_PER_BLOCK = 4_096


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
def static_psi(vectors: torch.Tensor, weight: torch.Tensor, tokens_per_block: int = TOKENS_PER_BLOCK) -> torch.Tensor:
    """Return the psi of every vector in every head of one layer, with one matrix product for each block of tokens.

    Args:
        vectors: x, the word embeddings alone, `[tokens, width]` float32.
        weight: the layer's matrices, `[3, heads, d', width]` float32.
        tokens_per_block: number of tokens whose vectors are projected at once.

    Returns:
        The values of psi, `[tokens, 4, heads]`, in the order of `VALUES`; NaN if x is zero.
    """
    width = weight.shape[-1]
    flat = weight.reshape(-1, width).T
    blocks = []
    for block in vectors.split(tokens_per_block):
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
