"""From a corpus's sentences to labelled documents: whose label is plain, no two of one text, split into two sides."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ops.errors import InputError, counted
from ops.sampling import SHUFFLED_LABELS, TRAINING_DOCUMENTS, TRAINING_SPLIT, draw

TRAIN, TEST = "train", "test"
MOST_LABELS = 1_000
_SHOWN = 5  # labels in a message

Key = tuple[str, str]  # data set and doc_id


@dataclass
class LabelledDocuments:
    """Documents in the order of their first sentences, each with its label, gathered a block of sentences at a time.

    Attributes:
        labels: each document's label; None where its sentences have several.
        without: sentences that have no label.
    """

    labels: dict[Key, str | None] = field(default_factory=dict)
    without: int = 0

    def add(self, datasets: Sequence[str], doc_ids: Sequence[str], labels: Sequence[str | None]) -> None:
        """Take in some sentences: their data set, document and label, `[sentences]` each."""
        for dataset, doc_id, label in zip(datasets, doc_ids, labels, strict=True):
            key = (dataset, doc_id)
            if label is None:
                self.without += 1
            elif self.labels.setdefault(key, label) != label:
                self.labels[key] = None


@dataclass(frozen=True)
class Choice:
    """The documents that take part.

    Attributes:
        labels: theirs, in the order of their first sentences.
        left_out: how many others there are, by reason.
    """

    labels: dict[Key, str]
    left_out: dict[str, int]


def choose_documents(
    found: LabelledDocuments, column: str, dropped: Sequence[str], least: int, most: int | None, seed: int
) -> Choice:
    """Return the documents that have one label which enough others have, at most `most`, a seeded uniform sample.

    Args:
        found: all labelled documents.
        column: where the labels come from, for messages.
        dropped: labels whose documents are left out.
        least: documents that a label needs.
        most: documents of the sample; None: all.
        seed: of the sample.

    Raises:
        InputError: no document has a label, a dropped label does not occur, or no two labels are left.
    """
    if not found.labels:
        raise InputError(f"--label {column}: no sentence of the corpus has a value; name another column")
    there = {label for label in found.labels.values() if label is not None}
    for label in dropped:
        if label not in there:
            raise InputError(f"--drop-label {label}: no document has this value of {column}; it has {_some(there)}")
    several = sum(label is None for label in found.labels.values())
    usable = [(key, label) for key, label in found.labels.items() if label is not None and label not in dropped]
    sample = draw(len(usable), len(usable) if most is None else most, seed, TRAINING_DOCUMENTS)
    chosen = [usable[i] for i in sample]
    counts: dict[str, int] = {}
    for _, label in chosen:
        counts[label] = counts.get(label, 0) + 1
    enough = {label for label, n in counts.items() if n >= least}
    if len(enough) < 2:
        raise InputError(
            f"--label {column}: {counted(len(enough), 'label')} ({_some(enough)}) with at least "
            f"{counted(least, 'document')} among {counted(len(chosen), 'document')}; a classifier needs two"
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


def first_of_each_text(texts: Iterable[str]) -> list[bool]:
    """Tell of each text whether none before it is the same, case and white space aside.

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
    """Return the side of each document, `train` or `test`: of every label the same share, rounded, is for the test.

    A label of two documents or more has one at least on either side; one of a single document is trained on.

    Args:
        labels: of the documents.
        share: of a label's documents that are for the test.
        seed: of the draw.
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
    """Return the labels in a seeded random order: as many of each as before, and nothing to be learnt from the text."""
    order = np.random.default_rng([seed, SHUFFLED_LABELS]).permutation(len(labels))
    return [labels[i] for i in order]


def numbered(labels: Sequence[str], names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return each label's place among the names, `[labels]`."""
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[label] for label in labels], np.int64)


def _some(labels: Iterable[str]) -> str:
    names = sorted(labels)
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "") or "none"
