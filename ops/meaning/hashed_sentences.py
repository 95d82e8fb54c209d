"""The sentences to hash, with their documents, whether they are held out, and their classes for each label."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ops.arrays import Bools, Int64s
from ops.errors import InputError
from ops.meaning.confusion import held_out
from ops.meaning.hashing import LEAST_OF_CLASS, Labelled, labelled
from ops.schema import meta_keys

LABELS = ("topic", "category", "dataset")  # used if no label is requested
_PREFIX = "label_"


@dataclass(frozen=True)
class Drawn:
    """The drawn sentences.

    Attributes:
        sent_ids: the ids of the sentences, ascending, `[sentences]`.
        documents: the index of each sentence's document, `[sentences]`.
        tested: whether each sentence's document is held out, `[sentences]` bool.
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

    def to_table(self) -> pa.Table:
        """Return a table of `sent_id`, `document`, `tested`, and the class for each label (null without a class)."""
        columns: dict[str, Any] = {"sent_id": self.sent_ids, "document": self.documents, "tested": self.tested}
        for label in self.labels:
            columns[_PREFIX + label.name] = pa.array(names_of(label), pa.string())
        return pa.table(columns)

    @classmethod
    def from_table(cls, table: pa.Table) -> "Drawn":
        """Return the sentences that `to_table` stored."""
        names = [name for name in table.column_names if name.startswith(_PREFIX)]
        labels = [labelled(name.removeprefix(_PREFIX), table[name].to_pylist()) for name in names]
        sent_ids, documents, tested = (table[name].to_numpy() for name in ("sent_id", "document", "tested"))
        return cls(sent_ids, documents, tested, labels)


def names_of(label: Labelled) -> list[str | None]:
    """Return the name of each sentence's class; None for a sentence without a class."""
    return [label.classes[i] if i >= 0 else None for i in label.number]


def no_sentences() -> Drawn:
    """Return an empty draw."""
    none = np.zeros(0, np.int64)
    return Drawn(none, none, none.astype(bool), [])


def label_drawn(sent_ids: Int64s, tables: Iterable[pa.Table], label: str | None, seed: int) -> Drawn:
    """Return drawn sentences with their classes; without labels if no column has two classes.

    Args:
        sent_ids: the ids of the drawn sentences.
        tables: these sentences with `dataset`, `doc_id`, and `meta` if the corpus has it.
        label: the column whose values are the classes; None for all columns of `LABELS` that the corpus has.
        seed: the run's seed.

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
    labels = [found for name in wanted if len((found := labelled(name, values[name])).classes) > 1]
    if label and not labels:
        raise _too_few_classes(label, sorted({v for v in values[label] if v is not None}), len(sent_ids))
    pairs = list(zip(datasets, names, strict=True))
    _, documents = np.unique(np.array([f"{d}\x1f{n}" for d, n in pairs], object), return_inverse=True)
    tested = np.array([held_out(d, n, seed) for d, n in pairs], bool)
    return Drawn(sent_ids, documents.astype(np.int64), tested, labels)


def _too_few_classes(label: str, there: list[str], drawn: int) -> InputError:
    found = f"has {len(there):,} values" if len(there) != 1 else f"has only the value {there[0]!r}"
    return InputError(
        f"--label {label}: {found} in the {drawn:,} drawn sentences, and at least two must occur in "
        f"{LEAST_OF_CLASS} or more; name another column, or raise --hashed-sentences"
    )
