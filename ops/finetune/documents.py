"""Construction of documents with one label each from a corpus's sentences, without duplicates, and their split."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ops.arrays import Int64s
from ops.errors import InputError, counted
from ops.sampling import SHUFFLED_LABELS, TRAINING_DOCUMENTS, TRAINING_SPLIT, draw
from ops.storage.store import Store
from ops.storage.tables import read_parts

TRAIN, TEST = "train", "test"
MOST_LABELS = 1_000
_SHOWN = 5  # maximum number of labels in a message

Key = tuple[str, str]  # dataset and doc_id


@dataclass
class LabelledDocuments:
    """Documents with their labels, in the order of their first sentences, collected from blocks of sentences.

    Attributes:
        labels: each document's label; None if its sentences have several.
        without: number of sentences without a label, or with a blank one.
        several: the first document found to have several labels, with two of them, as text.
    """

    labels: dict[Key, str | None] = field(default_factory=dict)
    without: int = 0
    several: str = ""

    def add(self, datasets: Sequence[str], doc_ids: Sequence[str], labels: Sequence[str | None]) -> None:
        """Add some sentences, given their datasets, documents and labels, `[sentences]` each."""
        for dataset, doc_id, label in zip(datasets, doc_ids, labels, strict=True):
            key = (dataset, doc_id)
            if label is None or not label.strip():
                self.without += 1
            elif (before := self.labels.setdefault(key, label)) != label:
                self.several = self.several or f"{doc_id} ({before}, {label})"
                self.labels[key] = None


def read_labelled(store: Store, column: str) -> LabelledDocuments:
    """Return the documents of corpus/ with their labels, which are read from a column of the metadata."""
    found = LabelledDocuments()
    for table in read_parts(store, "corpus", ["dataset", "doc_id", "meta"]):
        labels = table["meta"].combine_chunks().field(column)
        found.add(table["dataset"].to_pylist(), table["doc_id"].to_pylist(), labels.to_pylist())
    return found


@dataclass(frozen=True)
class Choice:
    """The documents that are used.

    Attributes:
        labels: the label of each document, in the order of the documents' first sentences.
        left_out: number of excluded documents for each reason.
    """

    labels: dict[Key, str]
    left_out: dict[str, int]


def choose_documents(
    found: LabelledDocuments, column: str, dropped: Sequence[str], least: int, most: int | None, seed: int
) -> Choice:
    """Choose the documents that have one sufficiently frequent label; at most `most`, as a seeded uniform sample.

    Args:
        found: all labelled documents.
        column: the source of the labels, for messages.
        dropped: labels whose documents are excluded.
        least: minimum number of documents for a label.
        most: size of the sample; None for all documents.
        seed: the seed of the sample.

    Raises:
        InputError: no document has a label, a dropped label does not occur, or fewer than two labels remain.
    """
    if not found.labels:
        of_all = counted(found.without, "sentence")
        raise InputError(f"--label {column}: no sentence of the corpus has a value ({of_all}); name another column")
    there = {label for label in found.labels.values() if label is not None}
    for label in dropped:
        if label not in there:
            raise InputError(f"--drop-label {label}: no document has this value of {column}; it has {_some(there)}")
    several = sum(label is None for label in found.labels.values())
    if several == len(found.labels):
        raise InputError(
            f"--label {column}: all {counted(several, 'document')} have several labels, such as {found.several}, "
            "but a document requires one label: name another column, or give each text its own doc_id"
        )
    usable = [(key, label) for key, label in found.labels.items() if label is not None and label not in dropped]
    sample = draw(len(usable), len(usable) if most is None else most, seed, TRAINING_DOCUMENTS)
    chosen = [usable[i] for i in sample]
    counts = Counter(label for _, label in chosen)
    enough = {label for label, n in counts.items() if n >= least}
    if len(enough) < 2:
        raise InputError(
            f"--label {column}: {counted(len(enough), 'label')} ({_some(enough)}) with at least "
            f"{counted(least, 'document')} among {counted(len(chosen), 'document')}"
            f"{_left_out(found, several, usable)}; a classifier needs two labels"
        )
    if len(enough) > MOST_LABELS:
        raise InputError(
            f"--label {column}: has {len(enough):,} values in {counted(len(chosen), 'document')}; "
            f"a classifier of at most {MOST_LABELS:,} is trained; name a column of fewer, or a larger --min-documents"
        )
    kept = {key: label for key, label in chosen if label in enough}
    left_out = {
        "several labels": several,
        "label dropped": len(found.labels) - several - len(usable),
        "not sampled": len(usable) - len(chosen),
        "label too rare": len(chosen) - len(kept),
    }
    return Choice(kept, left_out)


def _left_out(found: LabelledDocuments, several: int, usable: Sequence[Any]) -> str:
    """Return a description of what was excluded before the sample, with an example of a document with several labels.

    The description is empty if nothing was excluded.
    """
    dropped = len(found.labels) - several - len(usable)
    reasons = (
        (several, "document", f"of several labels, such as {found.several}"),
        (dropped, "document", "of a dropped label"),
        (found.without, "sentence", "without a value"),
    )
    said = ", ".join(f"{counted(number, noun)} {why}" for number, noun, why in reasons if number)
    return f"; excluded: {said}" if said else ""


def first_of_each_text(texts: Iterable[str]) -> list[bool]:
    """Return for each text whether no earlier text is the same, ignoring case and white space.

    >>> first_of_each_text(["One  two", "three", "one two"])
    [True, True, False]
    """
    seen: set[str] = set()
    first = []
    for text in texts:
        plain = " ".join(text.casefold().split())
        first.append(plain not in seen)
        seen.add(plain)
    return first


def split_sides(labels: Sequence[str], share: float, seed: int) -> list[str]:
    """Return the side of each document, `train` or `test`; the same share (rounded) of every label is for the test.

    A label with at least two documents has at least one document on each side. If a label has only one document, the
    document is for training.

    Args:
        labels: the label of each document.
        share: the share of a label's documents that are for the test.
        seed: the seed of the draw.
    """
    rng = np.random.default_rng([seed, TRAINING_SPLIT])
    sides = np.full(len(labels), TRAIN, object)
    own = np.array(labels, object)
    for label in sorted(set(labels)):
        places = np.flatnonzero(own == label)
        for_test = min(max(round(share * len(places)), 1), len(places) - 1)
        sides[rng.permutation(places)[:for_test]] = TEST
    return [str(side) for side in sides]


def shuffle_labels(labels: Sequence[str], seed: int) -> list[str]:
    """Return the labels in a seeded random order: their counts do not change, but the text no longer predicts them."""
    order = np.random.default_rng([seed, SHUFFLED_LABELS]).permutation(len(labels))
    return [labels[i] for i in order]


def read_sentences(store: Store, documents: Container[Key]) -> dict[str, list[Any]]:
    """Return the sentences of some documents in the order of corpus/, as one list for each column."""
    names = ("sent_id", "text", "dataset", "doc_id", "sent_in_doc")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for table in read_parts(store, "corpus", list(names)):
        keys = zip(table["dataset"].to_pylist(), table["doc_id"].to_pylist(), strict=True)
        chosen = table.filter(pa.array([key in documents for key in keys]))
        for name in names:
            found[name] += chosen[name].to_pylist()
    return found


def join_sentences(sentences: Mapping[str, Sequence[Any]]) -> dict[Key, str]:
    """Return the text of each document, with its sentences joined in order.

    The documents are in the order of their first sentences.

    Args:
        sentences: the sentences, as `read_sentences` returns them.
    """
    texts: dict[Key, list[tuple[int, str]]] = {}
    columns = (sentences[name] for name in ("dataset", "doc_id", "sent_in_doc", "text"))
    for dataset, doc_id, place, text in zip(*columns, strict=True):
        texts.setdefault((dataset, doc_id), []).append((place, text))
    return {key: " ".join(text for _, text in sorted(own)) for key, own in texts.items()}


def split_documents(
    texts: Mapping[Key, str], labels: Mapping[Key, str], test_share: float, split_seed: int, shuffle_seed: int | None
) -> tuple[pa.Table, dict[Key, tuple[str, str]]]:
    """Split documents into the two sides; if several documents have the same text, only the first is used.

    Args:
        texts: the text of each document, in order.
        labels: the label of each document.
        test_share, split_seed: the `share` and `seed` of `split_sides`.
        shuffle_seed: the seed for shuffling the training labels; None to train on the correct labels.

    Returns:
        A table of the documents that are used: `text`, `label`, `taught` (the label in training) and `side`. And for
        each of these documents its side and its label in training.

    Raises:
        InputError: one side has no documents, or the training side has only one label.
    """
    first = first_of_each_text(texts.values())
    keys = [key for key, is_first in zip(texts, first, strict=True) if is_first]
    own = [labels[key] for key in keys]
    sides = split_sides(own, test_share, split_seed)
    _check_sides(own, sides)
    taught = list(own)
    if shuffle_seed is not None:
        train = [i for i, side in enumerate(sides) if side == TRAIN]
        for i, label in zip(train, shuffle_labels([own[i] for i in train], shuffle_seed), strict=True):
            taught[i] = label
    columns = {"text": pa.array([texts[key] for key in keys], pa.string()), "label": own, "taught": taught}
    return pa.table({**columns, "side": sides}), dict(zip(keys, zip(sides, taught, strict=True), strict=True))


def _check_sides(labels: Sequence[str], sides: Sequence[str]) -> None:
    counts = Counter(sides)
    taught = {label for label, side in zip(labels, sides, strict=True) if side == TRAIN}
    if len(taught) < 2 or not counts[TEST]:
        raise InputError(
            f"--label: without documents that repeat another's text, {counts[TRAIN]:,} training documents with "
            f"{counted(len(taught), 'label')} and {counts[TEST]:,} test documents are left; a classifier needs two "
            "labels and a test document; give more documents"
        )


def side_rows(
    sentences: Mapping[str, Sequence[Any]], labels: Mapping[Key, str], placed: Mapping[Key, tuple[str, str]], side: str
) -> pa.Table:
    """Return the rows of `finetune/train` or `finetune/test`: the sentences of one side.

    Args:
        sentences: the sentences, as `read_sentences` returns them.
        labels: the label of each document.
        placed: the documents' sides and labels in training, as `split_documents` returns them.
        side: the side, `train` or `test`.
    """
    keys = list(zip(sentences["dataset"], sentences["doc_id"], strict=True))
    rows = [i for i, key in enumerate(keys) if placed.get(key, ("", ""))[0] == side]
    columns = {name: [sentences[name][i] for i in rows] for name in ("sent_id", "text", "dataset", "doc_id")}
    columns["label"] = [labels[keys[i]] for i in rows]
    if side == TRAIN:
        columns["trained_as"] = [placed[keys[i]][1] for i in rows]
    return pa.table(columns)


def numbered(labels: Sequence[str], names: Sequence[str]) -> Int64s:
    """Return each label's index in the names, `[labels]`."""
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[label] for label in labels], np.int64)


def _some(labels: Iterable[str]) -> str:
    names = sorted(labels)
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "") or "none"
