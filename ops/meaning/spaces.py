"""The spaces in which words are compared (counts, token embeddings, layers), and the nearest words in them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Float32s, Float64s, Int64s
from ops.meaning.readers import WordSums, embedded
from ops.model.load import ModelFacts, load_model
from ops.model.tokenizer import Tokenizer
from ops.shards import spans
from ops.statistics.highest import highest

COUNTS, EMBEDDING = "counts", "embedding"
_ROWS = 512  # number of rows scored at once


class Space(NamedTuple):
    """Vectors of words.

    Attributes:
        name: `counts`, `embedding`, `layer:1`, ...
        words: the words that have a vector, by descending frequency; among equally near words the first is chosen.
        vectors: `[words, dimensions]` float32; no row is zero.
    """

    name: str
    words: list[str]
    vectors: Float32s

    @property
    def units(self) -> Float64s:
        """The vectors at length 1, `[words, dimensions]` float64."""
        wide = self.vectors.astype(np.float64)
        return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))


def make_space(name: str, words: list[str], vectors: Float32s) -> Space:
    """Return a space of the words whose vector is finite and not zero."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    good = np.flatnonzero(np.isfinite(norms) & (norms > 0))
    return Space(name, [words[i] for i in good], vectors[good])


def nearest(space: Space, most: int) -> tuple[Int64s, Float32s, Float32s]:
    """Return each word's `most` nearest other words by cosine, or all of fewer; ties are ordered by frequency.

    These are the indices of the neighbours, `[words, neighbours]`, their cosines, and their plain inner products
    (float32).
    """
    units, wide = space.units, space.vectors.astype(np.float64)
    size = len(units)
    most = min(most, max(size - 1, 0))
    others, cosines = np.zeros((size, most), np.int64), np.zeros((size, most), np.float32)
    inner = np.zeros((size, most), np.float32)
    for start, stop in spans(size if most else 0, _ROWS):
        rows = slice(start, stop)
        scores = units[rows] @ units.T
        scores[np.arange(len(scores)), np.arange(start, stop)] = -np.inf
        others[rows] = highest(scores, most)
        cosines[rows] = np.take_along_axis(scores, others[rows], 1)
        inner[rows] = np.einsum("rd,rkd->rk", wide[rows], wide[others[rows]])
    return others, cosines, inner


def neighbour_rows(space: Space, most: int) -> dict[str, Any]:
    """Return the columns of `meaning/neighbours` of a space, in the order of the table."""
    others, cosines, inner = nearest(space, most)
    names = np.array(space.words, object)
    order = np.array(sorted(range(len(names)), key=lambda i: space.words[i].encode()), np.int64)
    size = others.shape[1]
    return {
        "space": [space.name] * (len(order) * size),
        "word": np.repeat(names[order], size),
        "rank": np.tile(np.arange(1, size + 1, dtype=np.int32), len(order)),
        "other": names[others[order]].ravel(),
        "cosine": cosines[order].ravel(),
        "inner": inner[order].ravel(),
    }


def frequent_words(table: pa.Table, most: int) -> tuple[list[str], Float32s]:
    """Return the words of `meaning/words` to compare, by descending count and then by word, and their vectors."""
    order = np.argsort(-table["count"].to_numpy(), kind="stable")[:most]
    chosen = table.take(pa.array(order))
    return chosen["word"].to_pylist(), pc.list_flatten(chosen["vector"]).to_numpy().reshape(len(order), -1)


def space_names(layers: int) -> list[str]:
    """Return the names of the spaces of a model with this number of layers.

    >>> space_names(2)
    ['counts', 'embedding', 'layer:1', 'layer:2']
    """
    return [COUNTS, EMBEDDING, *(f"layer:{i + 1}" for i in range(layers))]


def spaces_by_name(
    words: list[str], vectors: Float32s, sums: WordSums, facts: ModelFacts, tokenizer: Tokenizer
) -> Iterator[Space]:
    """Yield every space in the order of their names, one at a time; the model is loaded for its token embeddings.

    `vectors` are those of the words from the counts, and `sums` those of their states in all layers.
    """
    table = load_model(facts, "cpu", "float32").get_input_embeddings().weight.detach()  # type: ignore[operator]
    for name in sorted(space_names(facts.layers)):
        if name == COUNTS:
            yield make_space(name, words, vectors)
        elif name == EMBEDDING:
            yield make_space(name, words, embedded(words, table, tokenizer))
        else:
            layer = int(name.removeprefix("layer:")) - 1
            here = slice(layer * facts.width, (layer + 1) * facts.width)
            means = sums.total[:, here] / np.maximum(sums.count, 1)[:, None]
            yield make_space(name, words, means.astype(np.float32))
