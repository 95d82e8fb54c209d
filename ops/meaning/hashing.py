"""The drawn sentences with their classes, and the rows of `meaning/hashing`: how often neighbours share a class.

The neighbours are those in the codes of every method and size.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Bools, Float32s, Float64s, Int64s
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
from ops.meaning.confusion import document_number, is_tested
from ops.sampling import HASHED
from ops.schema import meta_keys
from ops.statistics.by_document import share_by_document

LABELS = ("topic", "category", "dataset")  # used if no label is requested
LEAST_OF_CLASS = 20  # minimum number of sentences of a class that is used
SIZES = (2, 4, 8, 16, 32, 64)
IN_THE_PLANE = 2  # dimensions
MOST_QUERIES = 2_000
_ROWS = 256


class Labelled(NamedTuple):
    """The classes of sentences for one label.

    Attributes:
        classes: the names of the classes, in the order of their indices.
        number: the index of each sentence's class, `[sentences]`; -1 for a sentence without a class or with a class
            that is too rare.
    """

    name: str
    classes: list[str]
    number: Int64s

    @property
    def names(self) -> list[str | None]:
        """The name of each sentence's class; None for a sentence without a class."""
        return [self.classes[i] if i >= 0 else None for i in self.number]


@dataclass(frozen=True)
class Drawn:
    """The drawn sentences.

    Attributes:
        sent_ids: the ids of the sentences, ascending, `[sentences]`.
        documents, tested: the index of each sentence's document, and whether it is held out, `[sentences]`.
    """

    sent_ids: Int64s
    documents: Int64s
    tested: Bools
    labels: list[Labelled]

    def only(self, wanted: Bools) -> "Drawn":
        """Return the sentences for which `wanted`, `[sentences]` bool, is true; indices of classes do not change."""
        labels = [label._replace(number=label.number[wanted]) for label in self.labels]
        return Drawn(self.sent_ids[wanted], self.documents[wanted], self.tested[wanted], labels)

    def shuffled(self, seed: int) -> "Drawn":
        """Return the control, in which the classes of labelled held-out sentences are in random order."""
        rng = np.random.default_rng([seed, HASHED])
        labels = []
        for label in self.labels:
            number = label.number.copy()
            held = np.flatnonzero(self.tested & (number >= 0))
            number[held] = rng.permutation(number[held])
            labels.append(label._replace(number=number))
        return replace(self, labels=labels)


def labelled(name: str, values: list[str | None]) -> Labelled:
    """Return the classes of a label with at least `LEAST_OF_CLASS` sentences each, sorted by name."""
    counts = Counter(value for value in values if value is not None)
    classes = sorted(value for value, n in counts.items() if n >= LEAST_OF_CLASS)
    places: dict[str | None, int] = {value: i for i, value in enumerate(classes)}
    return Labelled(name, classes, np.array([places.get(value, -1) for value in values], np.int64))


def no_sentences() -> Drawn:
    """Return an empty draw."""
    none = np.zeros(0, np.int64)
    return Drawn(none, none, none.astype(bool), [])


def label_drawn(sent_ids: Int64s, tables: Iterable[pa.Table], label: str | None, seed: int) -> Drawn:
    """Return drawn sentences with their classes; without labels if no column has two classes.

    Args:
        tables: these sentences with `dataset`, `doc_id`, and `meta` if the corpus has it.
        label: the column whose values are the classes; None for all columns of `LABELS` that the corpus has.

    Raises:
        InputError: the requested label has fewer than two classes.
    """
    table = pa.concat_tables(tables)
    datasets, names = (table[column].to_pylist() for column in ("dataset", "doc_id"))
    values: dict[str, list[str | None]] = {"dataset": datasets}
    keys = meta_keys(table.schema)
    meta = table["meta"].to_pylist() if keys else []
    values |= {key: [row[key] for row in meta] for key in keys}
    wanted = [label] if label else [name for name in LABELS if name in values]
    labels = [own for own in (labelled(name, values[name]) for name in wanted) if len(own.classes) > 1]
    if label and not labels:
        distinct = sorted({value for value in values[label] if value is not None})
        number = f"has {len(distinct):,} values" if len(distinct) != 1 else f"has only the value {distinct[0]!r}"
        raise InputError(
            f"--label {label}: {number} in the {len(sent_ids):,} drawn sentences, and at least two must occur in "
            f"{LEAST_OF_CLASS} or more; name another column, or raise --hashed-sentences"
        )
    pairs = list(zip(datasets, names, strict=True))
    _, documents = np.unique(np.array([f"{d}\x1f{n}" for d, n in pairs], object), return_inverse=True)
    tested = is_tested(np.array([document_number(d, n, seed) for d, n in pairs], np.uint64))
    return Drawn(sent_ids, documents.astype(np.int64), tested, labels)


def methods_and_sizes(width: int) -> list[tuple[str, int]]:
    """Return every method and size for states of `width` units, ending with the uncompressed states."""
    sizes = [size for size in SIZES if size < width]
    return [(method, size) for size in sizes for method in (AUTOENCODER, PCA)] + [(STATES, width)]


class HashedStates:
    """The finite ones among the states of drawn sentences, `[sentences, width]` float32, to compress and compare."""

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
