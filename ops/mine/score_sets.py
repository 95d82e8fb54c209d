"""How well representations separate held-out sentences from others like them."""

import numpy as np

from ops.arrays import Int64s, Integers
from ops.mine.held_out_sets import LikeRows
from ops.mine.representation import Representations
from ops.mine.sentence_sets import spans_within
from ops.patterns.sequences import Sequences
from ops.statistics.like_area import LikeArea, like_area

_MOST_WANTED = 1_000_000


def score_sets(
    representations: Representations,
    held_out: Sequences,
    others: LikeRows,
    documents: Integers,
    most_wanted: int = _MOST_WANTED,
) -> list[LikeArea]:
    """Return the area under the curve of each set.

    Args:
        representations: what was learnt of each set.
        held_out: rows of its sentences that were not used to learn it.
        others: similar rows, from which they are distinguished.
        documents: the document of each row of the store.
        most_wanted: sentences, with repetitions, that are weighted at once.
    """
    areas: list[LikeArea] = []
    for start, end in spans_within(held_out.offsets + others.rows.offsets, most_wanted):
        own, other = (sets.take(np.arange(start, end)) for sets in (held_out, others.rows))
        wanted = _side_by_side(own, other)
        rows, places = np.unique(wanted.items, return_inverse=True)
        evidence = representations.evidence(
            start, rows.astype(np.int64), Sequences(places.astype(np.int32), wanted.offsets)
        )
        document = np.asarray(documents)[wanted.items]
        for number, size in enumerate(own.lengths):
            here = slice(wanted.offsets[number], wanted.offsets[number + 1])
            winners = slice(*held_out.offsets[start + number : start + number + 2])
            found, of = evidence[here], document[here]
            areas.append(
                like_area(found[:size], found[size:], others.first[winners], others.stop[winners], of[:size], of[size:])
            )
    return areas


def _side_by_side(own: Sequences, other: Sequences) -> Sequences:
    """Concatenate, for each set, its own items and the other ones."""
    order: Int64s = np.arange(2 * len(own)).reshape(2, -1).T.ravel()
    pairs = Sequences.concatenate([own, other]).take(order)
    return Sequences(pairs.items, pairs.offsets[::2].copy())
