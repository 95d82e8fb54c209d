"""How well representations separate held-out sentences from others."""

import numpy as np

from ops.arrays import Int64s
from ops.mine.representation import Representations
from ops.mine.sentence_sets import spans_within
from ops.patterns.sequences import Sequences
from ops.statistics.auc import Area, area

_MOST_WANTED = 1_000_000


def score_sets(
    representations: Representations, held_out: Sequences, others: Sequences, most_wanted: int = _MOST_WANTED
) -> list[Area]:
    """Return the area under the curve of each set.

    Args:
        representations: what was learnt of each set.
        held_out: rows of its sentences that were not learnt from, ascending.
        others: rows of what they are set apart from, ascending.
        most_wanted: sentences, with repetitions, that are weighed at once.
    """
    areas: list[Area] = []
    for first, stop in spans_within(held_out.offsets + others.offsets, most_wanted):
        own, other = (sets.take(np.arange(first, stop)) for sets in (held_out, others))
        wanted = _side_by_side(own, other)
        rows, places = np.unique(wanted.items, return_inverse=True)
        evidence = representations.evidence(
            first, rows.astype(np.int64), Sequences(places.astype(np.int32), wanted.offsets)
        )
        for number, size in enumerate(own.lengths):
            found = evidence[wanted.offsets[number] : wanted.offsets[number + 1]]
            areas.append(area(found[:size], found[size:]))
    return areas


def _side_by_side(own: Sequences, other: Sequences) -> Sequences:
    """Return each set's own items and then the other ones."""
    order: Int64s = np.arange(2 * len(own)).reshape(2, -1).T.ravel()
    pairs = Sequences.concatenate([own, other]).take(order)
    return Sequences(pairs.items, pairs.offsets[::2].copy())
