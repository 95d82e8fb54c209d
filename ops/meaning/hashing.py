"""Short codes of sentences (principal components or bits), and how often neighbours in code share a class."""

from typing import Any, NamedTuple

import numpy as np

from ops.arrays import Arrays, Float32s, Float64s, Int64s
from ops.meaning.hashed_sentences import Drawn
from ops.statistics.by_document import share_by_document

SIZES = (2, 4, 8, 16, 32, 64)
PCA, AUTOENCODER, STATES, SHUFFLED = "pca", "autoencoder", "states", "shuffled"
REAL, BITS = "real", "bits"
MOST_QUERIES = 2_000
_ROWS = 256


class Codes(NamedTuple):
    """The codes of sentences, and the error of their reconstruction.

    Attributes:
        given, asked: the codes of the sentences to search, and of the query sentences whose neighbours are searched,
            `[n, size]` each.
        error: the share of the variance of the query states that is lost when they are rebuilt from their codes; None
            if they do not vary.
    """

    given: Float32s
    asked: Float32s
    error: float | None


def at_length_1(states: Float32s) -> Float32s:
    """Scale states to length 1, `[n, width]`, so that Euclidean distance orders them like cosine."""
    return np.asarray(states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-30), np.float32)


def principal_codes(given: Float32s, asked: Float32s, size: int) -> dict[str, Codes]:
    """Return codes from principal component analysis: the first components, and their signs.

    States are rebuilt from the components, and from the signs by least squares, as fitted on the given states.

    Args:
        given: the states on which the components are fitted, `[n, width]`.
        asked: other states to encode, `[m, width]`.
        size: number of dimensions or bits.
    """
    mean = given.astype(np.float64).mean(0)
    one, other = given.astype(np.float64) - mean, asked.astype(np.float64) - mean
    _, axes = np.linalg.eigh(one.T @ one)
    axes = axes[:, ::-1][:, :size]
    # The largest entry of each axis is positive, so that the same states give the same picture.
    axes = axes * np.where(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])] < 0, -1, 1)
    real, real_asked = one @ axes, other @ axes
    bits, bits_asked = np.where(real > 0, 1.0, -1.0), np.where(real_asked > 0, 1.0, -1.0)
    rebuild, *_ = np.linalg.lstsq(np.hstack([bits, np.ones((len(bits), 1))]), one, rcond=None)
    from_bits = np.hstack([bits_asked, np.ones((len(bits_asked), 1))]) @ rebuild
    return {
        REAL: Codes(real.astype(np.float32), real_asked.astype(np.float32), lost(other, real_asked @ axes.T)),
        BITS: Codes(bits.astype(np.float32), bits_asked.astype(np.float32), lost(other, from_bits)),
    }


def lost(states: Arrays, rebuilt: Arrays) -> float | None:
    """Return the share of the states' variance, around the mean of the given states, that their codes lose.

    The result is None if all states equal this mean, so that there is no variance.
    """
    variance = float((states**2).sum())
    return float(((states - rebuilt) ** 2).sum()) / variance if variance else None


def retrieved_classes(given: Float32s, asked: Float32s, classes: Int64s, neighbours: int) -> Float64s:
    """Return the share of each class among each query's nearest neighbours by Euclidean distance, `[asked, classes]`.

    Short codes have many ties. All sentences at the distance of the last neighbour share the remaining places equally.

    Args:
        given, asked: the codes to search, `[n, size]`, and the codes of the queries, `[m, size]`.
        classes: the class of each searched sentence, `[n]`, from 0.
        neighbours: number of neighbours; all sentences if there are fewer.
    """
    most = min(neighbours, len(given))
    one_hot = np.eye(int(classes.max(initial=0)) + 1)[classes]
    wide = given.astype(np.float64)
    lengths = (wide**2).sum(1)
    shares = np.zeros((len(asked), one_hot.shape[1]))
    for start in range(0, len(asked), _ROWS):
        rows = asked[start : start + _ROWS].astype(np.float64)
        # Rounded to ten decimal places, so that equal codes are equally distant in any order of addition.
        distance = np.round(lengths - 2 * rows @ wide.T, 10)
        last = np.partition(distance, most - 1, axis=1)[:, most - 1 : most]
        nearer, level = distance < last, distance == last
        left = (most - nearer.sum(1)) / level.sum(1)
        shares[start : start + _ROWS] = (nearer @ one_hot + left[:, None] * (level @ one_hot)) / most
    return shares


def measure_codes(codes: Codes, drawn: Drawn, neighbours: int) -> list[dict[str, Any]]:
    """Return the precision for each label; held-out sentences are the queries, and all other sentences are searched.

    The chance level is the precision of the same neighbours for queries with randomly permuted classes. The interval is
    None if all queries are from one document.

    Args:
        codes: the codes of the sentences that are not held out, and of the held-out sentences.
        drawn: the sentences with their classes.
        neighbours: number of neighbours of each query.
    """
    rows: list[dict[str, Any]] = []
    for label in drawn.labels:
        given, asked = label.number[~drawn.tested], label.number[drawn.tested]
        # A class that occurs only among queries, or only among the searched sentences, can never be found.
        both = np.intersect1d(given, asked)
        searched, queries = (np.flatnonzero(np.isin(side, both) & (side >= 0)) for side in (given, asked))
        # Queries are evenly spread over all sentences, which are in the order of the corpus.
        queries = queries[np.linspace(0, len(queries) - 1, min(len(queries), MOST_QUERIES)).astype(np.int64)]
        classes = len(np.unique(given[searched]))
        if classes < 2 or not len(queries):
            continue
        retrieved = retrieved_classes(codes.given[searched], codes.asked[queries], given[searched], neighbours)
        own = asked[queries]
        share = np.bincount(own, minlength=retrieved.shape[1]) / len(own)
        precision = share_by_document(retrieved[np.arange(len(own)), own], drawn.documents[drawn.tested][queries])
        known = {"label": label.name, "classes": classes, "n": len(queries), "neighbours": neighbours}
        rows.append(known | precision.columns("precision", "") | {"chance": float(share @ retrieved.mean(0))})
    return rows
