"""Frequent subsequences by the `prefixspan` package: a slow reference for the compiled miner."""

import numpy as np
from prefixspan import PrefixSpan  # type: ignore[import-untyped]

from ops.arrays import Bools, Int32s, Int64s
from ops.patterns import count_sequences
from ops.patterns.mined import Mined, as_counts
from ops.patterns.sequences import Sequences


def mine(sequences: Sequences, min_support_count: int, max_length: int) -> list[tuple[tuple[int, ...], int]]:
    """Return each subsequence of up to `max_length` items that at least `min_support_count` sentences contain.

    Each subsequence is returned with its support, the number of these sentences. Gaps are not limited. Subsequences are
    sorted by support, descending, then by their items, ascending (PrefixSpan, Pei et al. 2004).

    >>> mine(Sequences.from_lists([[0, 1, 2], [0, 2]]), 2, 2)
    [((0,), 2), ((0, 2), 2), ((2,), 2)]
    """
    if min_support_count < 1 or max_length < 1:
        raise ValueError("prefixspan: the minimum support and the maximum length must be at least 1")
    miner = PrefixSpan(sequences.to_lists())
    miner.minlen, miner.maxlen = 1, max_length
    found = [(tuple(pattern), int(support)) for support, pattern in miner.frequent(min_support_count)]
    return sorted(found, key=lambda entry: (-entry[1], entry[0]))


def mine_sets(
    sequences: Sequences,
    sets: Sequences,
    min_support: Int64s,
    max_length: int,
    marked: Bools,
    documents: Int32s,
) -> Mined:
    """Return what `mine` finds in each set of sentences; the arguments are those of `mine_sequences.mine_sets`."""
    patterns, counts, offsets = [], [np.zeros((0, 5), np.int64)], [0]
    for places, least in zip(sets.to_lists(), min_support.tolist(), strict=True):
        own = sequences.take(places)
        found = mine(own, least, max_length)
        patterns += [pattern for pattern, _ in found]
        where = count_sequences.occurrences(own, Sequences.from_lists([pattern for pattern, _ in found]))
        codes = np.unique(documents[places], return_inverse=True)[1]
        support = np.array([support for _, support in found], np.int64)
        counts.append(np.stack([support, where.support_within(marked[places]), *where.by_document(codes)], axis=1))
        offsets.append(len(patterns))
    return Mined(Sequences.from_lists(patterns), as_counts(np.concatenate(counts)), np.array(offsets))
