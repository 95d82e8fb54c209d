"""Construction of documents with one label each from a corpus's sentences, without duplicates, and their split."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ops.errors import InputError, counted, some_of
from ops.sampling import SHUFFLED_LABELS, TRAINING_DOCUMENTS, TRAINING_SPLIT, draw
from ops.storage.store import Store
from ops.storage.tables import read_parts

TRAIN, TEST = "train", "test"
MOST_LABELS = 1_000
_SHOWN = 5  # maximum number of labels in a message

Key = tuple[str, str]  # dataset and doc_id


class LabelledDocuments(NamedTuple):
    """Documents with their labels, in the order of their first sentences.

    Attributes:
        labels: each document's label; None if its sentences have several.
        without: number of sentences without a label, or with a blank one.
        several: the first document found to have several labels, with two of them, as text.
    """

    labels: dict[Key, str | None]
    without: int
    several: str


def read_labelled(store: Store, column: str) -> LabelledDocuments:
    """Return the documents of corpus/ with their labels, which are read from a column of the metadata."""

    def sentences() -> Iterator[tuple[Key, str | None]]:
        for table in read_parts(store, "corpus", ["dataset", "doc_id", "meta"]):
            labels = table["meta"].combine_chunks().field(column)
            yield from zip(_keys(table), labels.to_pylist(), strict=True)

    return collect_labels(sentences())


def collect_labels(sentences: Iterable[tuple[Key, str | None]]) -> LabelledDocuments:
    """Return the labelled documents, given the document and the label of each sentence."""
    labels: dict[Key, str | None] = {}
    without, several = 0, ""
    for key, label in sentences:
        if label is None or not label.strip():
            without += 1
        elif (before := labels.setdefault(key, label)) != label:
            several = several or f"{key[1]} ({before}, {label})"
            labels[key] = None
    return LabelledDocuments(labels, without, several)


def choose_documents(
    documents: LabelledDocuments, column: str, dropped: Sequence[str], least: int, most: int | None, seed: int
) -> tuple[dict[Key, str], dict[str, int]]:
    """Choose the documents that have one sufficiently frequent label; at most `most`, as a seeded uniform sample.

    Args:
        column: the source of the labels, for messages.
        dropped: labels whose documents are excluded.
        least: minimum number of documents for a label.

    Returns:
        The label of each document, in the order of the documents' first sentences, and the number of documents, or
        sentences, that are left out for each reason.

    Raises:
        InputError: no document has a label, a dropped label does not occur, or fewer than two labels remain.
    """
    if not documents.labels:
        of_all = counted(documents.without, "sentence")
        raise InputError(f"--label {column}: no sentence of the corpus has a value ({of_all}); name another column")
    names = {label for label in documents.labels.values() if label is not None}
    for label in dropped:
        if label not in names:
            raise InputError(
                f"--drop-label {label}: no document has this value of {column}; it has {some_of(sorted(names), _SHOWN)}"
            )
    several = sum(label is None for label in documents.labels.values())
    if several == len(documents.labels):
        raise InputError(
            f"--label {column}: all {counted(several, 'document')} have several labels, such as {documents.several}, "
            "but a document requires one label: name another column, or give each text its own doc_id"
        )
    usable = [(key, label) for key, label in documents.labels.items() if label is not None and label not in dropped]
    sample = draw(len(usable), len(usable) if most is None else most, seed, TRAINING_DOCUMENTS)
    chosen = [usable[i] for i in sample]
    enough = {label for label, n in Counter(label for _, label in chosen).items() if n >= least}
    kept = {key: label for key, label in chosen if label in enough}
    left_out = {
        "several labels": several,
        "label dropped": len(documents.labels) - several - len(usable),
        "not sampled": len(usable) - len(chosen),
        "label too rare": len(chosen) - len(kept),
        "sentences without a label": documents.without,
    }
    if len(enough) < 2:
        reasons = ", ".join(f"{why} {n:,}" for why, n in left_out.items() if n)
        raise InputError(
            f"--label {column}: {counted(len(enough), 'label')} ({some_of(sorted(enough), _SHOWN)}) with at "
            f"least {counted(least, 'document')} among {counted(len(chosen), 'document')}; left out: "
            f"{reasons or 'nothing'}; a classifier needs two labels"
        )
    if len(enough) > MOST_LABELS:
        raise InputError(
            f"--label {column}: has {len(enough):,} values in {counted(len(chosen), 'document')}; "
            f"a classifier of at most {MOST_LABELS:,} is trained; name a column of fewer, or a larger --min-documents"
        )
    return kept, left_out


def split_sides(labels: Sequence[str], share: float, seed: int) -> list[str]:
    """Return the side of each document, `train` or `test`.

    `share` (rounded) of the documents of every label are for the test, drawn with `seed`. A label with at least two
    documents has at least one on each side. If a label has only one document, the document is for training.
    """
    rng = np.random.default_rng([seed, TRAINING_SPLIT])
    sides = np.full(len(labels), TRAIN, object)
    own = np.array(labels, object)
    for label in sorted(set(labels)):
        places = np.flatnonzero(own == label)
        for_test = min(max(round(share * len(places)), 1), len(places) - 1)
        sides[rng.permutation(places)[:for_test]] = TEST
    return list(sides)


def read_sentences(store: Store, documents: Container[Key]) -> pa.Table:
    """Return the sentences of some documents in the order of corpus/."""
    tables = []
    for table in read_parts(store, "corpus", ["sent_id", "text", "dataset", "doc_id", "sent_in_doc"]):
        tables.append(table.filter(pa.array([key in documents for key in _keys(table)])))
    return pa.concat_tables(tables)


def _keys(sentences: pa.Table) -> list[Key]:
    return list(zip(sentences["dataset"].to_pylist(), sentences["doc_id"].to_pylist(), strict=True))


def join_sentences(sentences: pa.Table) -> dict[Key, str]:
    """Return the text of each document, its sentences joined in order; documents in order of their first sentences."""
    texts: dict[Key, list[tuple[int, str]]] = {}
    places, pieces = sentences["sent_in_doc"].to_pylist(), sentences["text"].to_pylist()
    for key, place, text in zip(_keys(sentences), places, pieces, strict=True):
        texts.setdefault(key, []).append((place, text))
    return {key: " ".join(text for _, text in sorted(own)) for key, own in texts.items()}


def split_documents(
    texts: Mapping[Key, str], labels: Mapping[Key, str], test_share: float, split_seed: int, shuffle_seed: int | None
) -> tuple[pa.Table, dict[Key, tuple[str, str]]]:
    """Split documents into the two sides; of documents with the same text but for case and white space, use the first.

    Args:
        texts: the text of each document, in order.
        labels: the label of each document.
        test_share, split_seed: the `share` and `seed` of `split_sides`.
        shuffle_seed: the seed for shuffling the training labels, whose counts do not change; None for correct labels.

    Returns:
        A table of the documents that are used: `text`, `label`, `taught` (the label in training) and `side`. And for
        each of these documents its side and its label in training.

    Raises:
        InputError: one side has no documents, or the training side has only one label.
    """
    distinct: dict[str, Key] = {}
    for key, text in texts.items():
        distinct.setdefault(" ".join(text.casefold().split()), key)
    keys = list(distinct.values())
    true_labels = np.array([labels[key] for key in keys], object)
    sides = split_sides(true_labels.tolist(), test_share, split_seed)
    train = np.flatnonzero(np.array(sides) == TRAIN)
    n_labels, n_test = len(set(true_labels[train])), len(keys) - len(train)
    if n_labels < 2 or not n_test:
        raise InputError(
            f"--label: without documents that repeat another's text, {len(train):,} training documents with "
            f"{counted(n_labels, 'label')} and {n_test:,} test documents are left; a classifier needs two "
            "labels and a test document; give more documents"
        )
    taught = true_labels.copy()
    if shuffle_seed is not None:
        taught[train] = true_labels[np.random.default_rng([shuffle_seed, SHUFFLED_LABELS]).permutation(train)]
    columns = {"text": pa.array([texts[key] for key in keys], pa.string()), "label": true_labels, "taught": taught}
    return pa.table({**columns, "side": sides}), dict(zip(keys, zip(sides, taught, strict=True), strict=True))


def side_rows(
    sentences: pa.Table, labels: Mapping[Key, str], placed: Mapping[Key, tuple[str, str]], side: str
) -> pa.Table:
    """Return the rows of `finetune/train` or `finetune/test`: the sentences of one side.

    `placed` are the documents' sides and labels in training, as `split_documents` returns them.
    """
    of_side = sentences.filter(pa.array([placed.get(key, ("", ""))[0] == side for key in _keys(sentences)]))
    rows = of_side.select(["sent_id", "text", "dataset", "doc_id"])
    rows = rows.append_column("label", pa.array([labels[key] for key in _keys(of_side)], pa.string()))
    if side == TRAIN:
        rows = rows.append_column("trained_as", pa.array([placed[key][1] for key in _keys(of_side)], pa.string()))
    return rows
