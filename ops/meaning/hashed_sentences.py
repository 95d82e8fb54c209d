"""The sentences to hash, with their documents, whether they are held out, and their classes for each label."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ops.arrays import Bools, Int64s
from ops.errors import InputError
from ops.meaning.confusion import document_number, is_tested
from ops.sampling import HASHED
from ops.schema import meta_keys

LABELS = ("topic", "category", "dataset")  # used if no label is requested
LEAST_OF_CLASS = 20  # minimum number of sentences of a class that is used


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
        labels: the classes of the sentences for each label.
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
        raise _too_few_classes(label, sorted({v for v in values[label] if v is not None}), len(sent_ids))
    pairs = list(zip(datasets, names, strict=True))
    _, documents = np.unique(np.array([f"{d}\x1f{n}" for d, n in pairs], object), return_inverse=True)
    tested = is_tested(np.array([document_number(d, n, seed) for d, n in pairs], np.uint64))
    return Drawn(sent_ids, documents.astype(np.int64), tested, labels)


def _too_few_classes(label: str, values: list[str], drawn: int) -> InputError:
    number = f"has {len(values):,} values" if len(values) != 1 else f"has only the value {values[0]!r}"
    return InputError(
        f"--label {label}: {number} in the {drawn:,} drawn sentences, and at least two must occur in "
        f"{LEAST_OF_CLASS} or more; name another column, or raise --hashed-sentences"
    )
