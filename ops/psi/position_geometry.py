"""The geometry of word and position embeddings: cosines, and attention from positions alone."""

import math

import numpy as np
import torch
from torch import nn

from ops.arrays import Float32s, Floats, Int64s
from ops.model.attention_modules import LayerProjections
from ops.shards import spans

# The normalisation between the embeddings and the first layer's projections.
_NORMS = ("embeddings.LayerNorm", "h.0.ln_1")
ROWS_PER_BLOCK = 4_096  # rows that are multiplied by all others at once


def cosine(a: Floats, b: Floats) -> float:
    """Return the cosine of two vectors; NaN if one of them is zero."""
    with np.errstate(invalid="ignore"):
        wide = a.astype(np.float64), b.astype(np.float64)
        return float(np.divide(wide[0] @ wide[1], np.linalg.norm(wide[0]) * np.linalg.norm(wide[1])))


def cosine_histogram(a: Floats, b: Floats, bins: int) -> Int64s:
    """Return the histogram of the cosines of all pairs of a row of `a [m, width]` and a row of `b [n, width]`.

    The bins are equal, from -1 to 1, and the sum of the counts `[bins]` is the number of pairs. Rows that are zero are
    left out.
    """
    a, b = _unit(a), _unit(b)
    counts = np.zeros(bins, np.int64)
    for start, stop in spans(len(a), ROWS_PER_BLOCK):
        counts += np.histogram(np.clip(a[start:stop] @ b.T, -1, 1), bins, (-1, 1))[0]
    return counts


@torch.inference_mode()
def position_attention(model: nn.Module, layer: LayerProjections, positions: torch.Tensor, decoder: bool) -> Float32s:
    """Return the first layer's attention for the position embeddings alone as input, `[heads, query, key]`.

    The vectors are processed as in the model: by the normalisation before the first projections, and then by the
    projections to queries and keys with their biases. Word and segment embeddings are left out. In a decoder, a query
    attends to the positions up to its own.

    Args:
        model: the model, whose normalisation is used.
        layer: the projections of the first layer.
        positions: the position embeddings, `[positions, width]`.
        decoder: whether a position attends only to itself and the positions before it.
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
