"""Frequent subsequences by the `prefixspan` package: a slow reference for the compiled miner."""

from itertools import pairwise

import numpy as np
from prefixspan import PrefixSpan  # type: ignore[import-untyped]

from ops.arrays import Int32s, Int64s, UInt8s
from ops.patterns import count_sequences
from ops.patterns.mined import KEPT, MARK, Mined, as_counts
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
    sequences: Sequences, sets: Sequences, min_support: Int64s, max_length: int, marks: UInt8s, documents: Int32s
) -> Mined:
    """Return what `mine` finds in each set of sentences; the arguments are those of `mine_sequences.mine_sets`."""
    patterns, counts, offsets = [], [], [0]
    for rows, least in zip(sets.to_lists(), min_support.tolist(), strict=True):
        members = sequences.take(rows)
        frequent = [pattern for pattern, _ in mine(members, min(least), max_length)]
        where = count_sequences.occurrences(members, Sequences.from_lists(frequent))
        codes = np.unique(documents[rows], return_inverse=True)[1]
        in_document, bits = np.bincount(codes), np.asarray(marks[rows], np.int64)
        for pattern, (first, stop) in zip(frequent, pairwise(where.offsets), strict=True):
            sentences = where.sentences[first:stop]
            marked, half = bits[sentences] & MARK, bits[sentences] >> 1
            if len(sentences) < least[0] and half.sum() < least[1] and (1 - half).sum() < least[2]:
                continue
            each, with_it = np.unique(codes[sentences], return_counts=True)
            squares, products = (with_it**2).sum(), (with_it * in_document[each]).sum()
            counts.append(
                [len(sentences), marked.sum(), half.sum(), (half & marked).sum(), len(each), squares, products]
            )
            patterns.append(pattern)
        offsets.append(len(patterns))
    columns = np.array(counts, np.int64).reshape(-1, KEPT)
    return Mined(Sequences.from_lists(patterns), as_counts(columns), np.array(offsets))
