"""How well the classifiers of sets separate held-out sentences of the sets from similar other sentences."""

import numpy as np

from ops.arrays import Int64s, Integers
from ops.mine.held_out_sets import LikeRows
from ops.mine.naive_bayes import NaiveBayes
from ops.mine.sentence_sets import spans_within
from ops.patterns.sequences import Sequences
from ops.statistics.like_area import LikeArea, like_area

_MOST_WANTED = 1_000_000  # sentences processed at once


def score_sets(
    classifier: NaiveBayes,
    held_out: Sequences,
    others: LikeRows,
    documents: Integers,
    most_wanted: int = _MOST_WANTED,
) -> list[LikeArea]:
    """Return, for each set, the area under the ROC curve of its held-out sentences against similar other sentences.

    Sentences are ranked by their evidence for the set (see `NaiveBayes.evidence`).

    Args:
        classifier: the classifier of all sets, learnt from their training sentences.
        held_out: the rows of each set's held-out sentences, which were not used for learning.
        others: similar rows outside each set, from which the held-out sentences are distinguished.
        documents: the document of each row of the store.
        most_wanted: maximum number of sentences, counting repetitions, that are processed at once.
    """
    areas: list[LikeArea] = []
    for start, end in spans_within(held_out.offsets + others.rows.offsets, most_wanted):
        members, other = (sets.take(np.arange(start, end)) for sets in (held_out, others.rows))
        wanted = _side_by_side(members, other)
        rows, items = np.unique(wanted.items, return_inverse=True)
        evidence = classifier.evidence(start, rows.astype(np.int64), Sequences(items.astype(np.int32), wanted.offsets))
        document = np.asarray(documents)[wanted.items]
        for number, size in enumerate(members.lengths):
            of_set = slice(*wanted.offsets[number : number + 2])
            winners = slice(*held_out.offsets[start + number : start + number + 2])
            above, below = np.split(evidence[of_set], [size])
            of_above, of_below = np.split(document[of_set], [size])
            areas.append(like_area(above, below, others.first[winners], others.stop[winners], of_above, of_below))
    return areas


def _side_by_side(own: Sequences, other: Sequences) -> Sequences:
    """Return, for each set, the items of `own` followed by those of `other`."""
    order: Int64s = np.arange(2 * len(own)).reshape(2, -1).T.ravel()
    pairs = Sequences.concatenate([own, other]).take(order)
    return Sequences(pairs.items, pairs.offsets[::2].copy())
