"""How often neighbours in code share a class, for codes of every method and size: the rows of `meaning/hashing`."""

from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Float32s, Float64s, Int64s
from ops.errors import InputError
from ops.meaning.codes import (
    AUTOENCODER,
    PCA,
    REAL,
    SHUFFLED,
    STATES,
    Codes,
    at_length_1,
    autoencoder_codes,
    principal_codes,
)
from ops.meaning.hashed_sentences import Drawn
from ops.statistics.by_document import share_by_document

SIZES = (2, 4, 8, 16, 32, 64)
IN_THE_PLANE = 2  # dimensions
MOST_QUERIES = 2_000
_ROWS = 256


def methods_and_sizes(width: int) -> list[tuple[str, int]]:
    """Return every method and size for states of `width` units, ending with the uncompressed states."""
    sizes = [size for size in SIZES if size < width]
    return [(method, size) for size in sizes for method in (AUTOENCODER, PCA)] + [(STATES, width)]


class HashedStates:
    """The states of drawn sentences, which are compressed and compared; states that are not finite are skipped.

    Args:
        drawn: the sentences.
        states: the states of the sentences, `[sentences, width]` float32.
    """

    def __init__(self, drawn: Drawn, states: Float32s, seed: int) -> None:
        good = np.asarray(np.isfinite(states).all(1))
        self.drawn, self.states, self.seed = drawn.only(good), at_length_1(states[good]), seed

    def codes(self, method: str, size: int, epochs: int) -> dict[str, Codes]:
        """Return the codes of a method and size, as a mapping from `real` or `bits` to codes.

        Raises:
            InputError: all documents are held out, or no document is held out.
        """
        tested = self.drawn.tested
        given, asked = self.states[~tested], self.states[tested]
        if not len(given) or not len(asked):
            raise InputError("--hashed-sentences: too few documents to fit on some and test on the rest; raise it")
        if method == STATES:
            return {REAL: Codes(given, asked, 0.0)}
        if method == PCA:
            return principal_codes(given, asked, size)
        return autoencoder_codes(given, asked, size, epochs, self.seed)

    def rows(self, codes: dict[str, Codes], method: str, size: int, neighbours: int) -> pa.Table:
        """Return the rows of `meaning/hashing` for some codes; uncompressed states also get the control's rows."""
        rows = []
        for code, own in codes.items():
            known = {"method": method, "code": code, "size": size, "error": own.error}
            rows += [known | row for row in measure_codes(own, self.drawn, neighbours)]
            if method == STATES:
                known |= {"method": SHUFFLED, "error": None}
                rows += [known | row for row in measure_codes(own, self.drawn.shuffled(self.seed), neighbours)]
        return schema.table("meaning/hashing", rows)

    def plane(self, codes: dict[str, Codes], method: str) -> pa.Table:
        """Return the rows of `meaning/plane`: the two-dimensional codes of the held-out sentences."""
        ids, places = self.drawn.sent_ids[self.drawn.tested], codes[REAL].asked
        columns = {"method": [method] * len(ids), "sent_id": ids, "x": places[:, 0], "y": places[:, 1]}
        return schema.table("meaning/plane", columns)


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
