"""Frequent subsequences by the `prefixspan` package: slow, and what the compiled miner is compared with."""

from prefixspan import PrefixSpan  # type: ignore[import-untyped]

from ops.patterns.sequences import Sequences


def mine(sequences: Sequences, min_support_count: int, max_length: int) -> list[tuple[tuple[int, ...], int]]:
    """Return each subsequence of up to `max_length` items in `min_support_count` sentences or more.

    Each comes with its number of sentences. No limit on gaps. The order is support descending, then the
    pattern ascending (PrefixSpan, Pei et al. 2004).

    >>> mine(Sequences.from_lists([[0, 1, 2], [0, 2]]), 2, 2)
    [((0,), 2), ((0, 2), 2), ((2,), 2)]
    """
    if min_support_count < 1 or max_length < 1:
        raise ValueError("prefixspan: the minimum support and the maximum length must be at least 1")
    miner = PrefixSpan(sequences.to_lists())
    miner.minlen, miner.maxlen = 1, max_length
    found = [(tuple(pattern), int(support)) for support, pattern in miner.frequent(min_support_count)]
    return sorted(found, key=lambda entry: (-entry[1], entry[0]))
