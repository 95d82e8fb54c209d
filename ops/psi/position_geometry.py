"""Word and position embeddings side by side: their plane, their cosines, and attention from positions alone."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from ops.arrays import Float32s, Float64s, Floats, Int64s
from ops.model.head_projections import LayerProjections

_TABLES = ("position_embeddings", "wpe")
# What stands between the embeddings and the first layer's projections.
_NORMS = ("embeddings.LayerNorm", "h.0.ln_1")
ROWS_PER_BLOCK = 4_096


class Plane(NamedTuple):
    """Vectors on their first two principal axes, `[vectors, 2]`, and the share of the variance of each axis."""

    places: Float64s
    shares: tuple[float, float]


def position_table(model: nn.Module) -> torch.Tensor | None:
    """Return the position embeddings in order, `[positions, width]`, or None for a model without a table of them.

    Rows up to the padding's stand for no position (RoBERTa and its kin) and are left out.
    """
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in _TABLES and isinstance(module, nn.Embedding):
            first = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.weight.detach()[first:]
    return None


def principal_plane(vectors: Floats) -> Plane:
    """Project vectors `[vectors, width]` on the two axes along which they vary most; of width 1 the second is 0."""
    if vectors.shape[1] < 2:
        vectors = np.hstack([vectors, np.zeros((len(vectors), 2 - vectors.shape[1]))])
    centred = vectors.astype(np.float64) - vectors.mean(0, dtype=np.float64)
    values, axes = np.linalg.eigh(centred.T @ centred)
    chosen = axes[:, [-1, -2]]
    chosen = chosen * np.sign(chosen[np.abs(chosen).argmax(0), [0, 1]])
    total = max(float(values.sum()), np.finfo(float).tiny)
    return Plane(centred @ chosen, (float(values[-1]) / total, float(values[-2]) / total))


def cosine(a: Floats, b: Floats) -> float:
    """Return the cosine of two vectors; NaN where one is zero."""
    with np.errstate(invalid="ignore"):
        wide = a.astype(np.float64), b.astype(np.float64)
        return float(np.divide(wide[0] @ wide[1], np.linalg.norm(wide[0]) * np.linalg.norm(wide[1])))


def cosine_histogram(a: Floats, b: Floats, bins: int, rows_per_block: int = ROWS_PER_BLOCK) -> Int64s:
    """Count the cosines of all pairs of a row of `a` and one of `b`, zero rows left out, in equal bins from -1 to 1.

    Args:
        a: `[m, width]`.
        b: `[n, width]`.
        bins: their number.
        rows_per_block: rows of `a` that are multiplied by all of `b` at once.

    Returns:
        `[bins]`, whose sum is the number of pairs.
    """
    a, b = _unit(a), _unit(b)
    counts = np.zeros(bins, np.int64)
    for start in range(0, len(a), rows_per_block):
        cosines = np.clip(a[start : start + rows_per_block] @ b.T, -1, 1)
        counts += np.histogram(cosines, bins, (-1, 1))[0]
    return counts


@torch.inference_mode()
def position_attention(model: nn.Module, layer: LayerProjections, positions: torch.Tensor, decoder: bool) -> Float32s:
    """Return the first layer's attention where the input is the position embeddings alone, `[heads, query, key]`.

    The vectors go the model's own way: through the normalisation in front of the first projections, then to queries and
    keys with their biases; words and segments are left out. A decoder's query sees the positions up to its own.

    Args:
        model: whose normalisation it is.
        layer: projections of the first layer.
        positions: `[positions, width]`.
        decoder: whether a position sees only those before it.
    """
    modules = dict(model.named_modules())
    norm = next(modules[name] for name in _NORMS if name in modules)
    x = norm(positions).float()
    heads, size, width = layer.weight.shape[1:]
    query, key = (
        (x @ layer.weight[i].reshape(-1, width).T).view(-1, heads, size).add(layer.bias[i]).transpose(0, 1)
        for i in (0, 1)
    )
    scores = query @ key.transpose(1, 2) / math.sqrt(size)
    if decoder:
        scores = scores.masked_fill(torch.ones(scores.shape[1:], dtype=torch.bool).triu(1), -torch.inf)
    return np.asarray(scores.softmax(-1).numpy(), np.float32)


def _unit(vectors: Floats) -> Float32s:
    norm = np.linalg.norm(vectors.astype(np.float64), axis=1)
    return np.asarray((vectors[norm > 0] / norm[norm > 0, None]).astype(np.float32))
