"""Frequent subsequences under a gap limit, on flat arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.compiled import compiled
from ops.patterns.sequences import Sequences

Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


def mine(
    sequences: Sequences, min_support_count: int, max_length: int, max_gap: int | None = None
) -> tuple[Sequences, Longs]:
    """Return every frequent subsequence of up to `max_length` items, and its support `[n_patterns] int64`.

    Support is the number of sentences that contain the pattern, at least `min_support_count`; `max_gap` is
    how many items may be skipped between neighbours: 0 is contiguous, None or -1 no limit. A pattern comes
    after its own beginnings; the order is the same on every run (PrefixSpan, Pei et al. 2004; with a limit
    all places of a pattern's last item are kept, as the first may be the wrong one to go on from).

    Raises ValueError where a minimum or maximum is below 1.

    >>> patterns, support = mine(Sequences.from_lists([[0, 1, 2], [0, 2]]), 2, 2)
    >>> patterns.to_lists(), support.tolist()
    ([[0], [2], [0, 2]], [2, 2, 2])
    """
    if min_support_count < 1 or max_length < 1:
        raise ValueError("prefixspan: the minimum support and the maximum length must be at least 1")
    gap = -1 if max_gap is None or max_gap < 0 else max_gap
    n_codes = int(sequences.items.max(initial=-1)) + 1
    # numpy's zeros cost nothing until touched, which matters where millions of words are known but few occur.
    last, support = np.zeros(n_codes, np.int32), np.zeros(n_codes, np.int32)
    _count_items(sequences.items, sequences.offsets, last, support)
    alphabet = np.unique(sequences.items[support[sequences.items] >= min_support_count])
    lookup = last
    lookup[sequences.items] = -1
    lookup[alphabet] = np.arange(alphabet.size)
    codes = Sequences(lookup[sequences.items], sequences.offsets)
    if gap < 0:
        # Without a limit infrequent items are left out; with one they keep their place as -1.
        codes = codes.where(codes.items >= 0)
    parent, code, found = _mine(codes.items, codes.offsets, alphabet.size, min_support_count, max_length, gap)
    patterns = Sequences.from_parents(parent, code)
    return Sequences(alphabet[patterns.items], patterns.offsets), found


@compiled
def _count_items(items: Codes, offsets: Longs, last: Codes, support: Codes) -> None:
    for sentence in range(offsets.size - 1):
        for place in range(offsets[sentence], offsets[sentence + 1]):
            item = items[place]
            if last[item] != sentence + 1:
                last[item] = sentence + 1
                support[item] += 1


@compiled
def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    result = np.empty(max(2 * array.size, size), array.dtype)
    result[: array.size] = array
    return result


@compiled
def _mine(
    codes: Codes, offsets: Longs, n_items: int, min_support: int, max_length: int, max_gap: int
) -> tuple[Longs, Longs, Longs]:
    """Grow patterns by an item at a time; return each one's beginning (or -1), last item and support.

    A pattern's matches are the places of its last item: the first in each sentence, or with a gap limit all.
    """
    n_sentences, n_codes = offsets.size - 1, codes.size
    # The place of the same item before, in the sentence, and the sentence's end.
    previous, end_of = np.full(n_codes, -1, np.int32), np.empty(n_codes, np.int32)
    latest = np.full(n_items, -1, np.int32)
    for sentence in range(n_sentences):
        for place in range(offsets[sentence], offsets[sentence + 1]):
            end_of[place] = offsets[sentence + 1]
            if codes[place] >= 0:
                if latest[codes[place]] >= offsets[sentence]:
                    previous[place] = latest[codes[place]]
                latest[codes[place]] = place
    last, support = np.zeros(n_items, np.int64), np.zeros(n_items, np.int64)
    size, next_free = np.zeros(n_items, np.int64), np.zeros(n_items, np.int64)
    touched, hit = np.empty(n_items + 1, np.int32), np.empty(n_codes + 1, np.int32)
    places = np.empty(2 * n_codes + 1, np.int32)
    parent, item_of, support_of = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    found, stamp = 0, 0
    pending = [(-1, 1, 0, n_sentences)]
    while pending:
        pattern, length, begin, end = pending.pop()
        deepest = length == max_length
        n_touched, hits, reached, sentence_end = 0, 0, 0, 0
        # With few items to choose from it is quicker to look at all of them than to note which occur.
        few = deepest and max_gap < 0 and n_items <= 4 * (end - begin)
        if few:
            touched[:n_items] = np.arange(n_items)
            n_touched = n_items
        for entry in range(begin, end):
            if pattern < 0:
                start, stop = offsets[entry], offsets[entry + 1]
            else:
                start = np.int64(places[entry]) + 1
                stop = np.int64(end_of[start - 1])
            if few:
                for place in range(start, stop):
                    support[codes[place]] += previous[place] < start
                continue
            if max_gap < 0:
                for place in range(start, stop):
                    # Added up rather than branched on: whether an item is new cannot be predicted.
                    code = codes[place]
                    new = int(previous[place] < start)
                    touched[n_touched] = code
                    n_touched += new & int(support[code] == 0)
                    support[code] += new
                    hit[hits] = place
                    hits += new
                continue
            if stop > sentence_end:
                sentence_end = stop
                stamp += 1
            if pattern >= 0:
                # Windows of one sentence overlap: what an earlier one has covered isn't visited again.
                stop = min(stop, start + 1 + max_gap)
                start = max(start, reached)
                reached = stop
            for place in range(start, stop):
                code = codes[place]
                if code >= 0:
                    if last[code] != stamp:
                        last[code] = stamp
                        if support[code] == 0:
                            touched[n_touched] = code
                            n_touched += 1
                        support[code] += 1
                    if not deepest:
                        hit[hits] = place
                        size[code] += 1
                        hits += 1
        hits = 0 if deepest else hits
        top = end if pattern >= 0 else 0
        if top + hits > places.size:
            places = _longer(places, top + hits)
        if found + n_touched > parent.size:
            parent, item_of = _longer(parent, found + n_touched), _longer(item_of, found + n_touched)
            support_of = _longer(support_of, found + n_touched)
        for code in np.sort(touched[:n_touched]):
            if support[code] >= min_support:
                parent[found], item_of[found], support_of[found] = pattern, code, support[code]
                if not deepest:
                    next_free[code] = top
                    top += support[code] if max_gap < 0 else size[code]
                    pending.append((found, length + 1, next_free[code], top))
                found += 1
            else:
                next_free[code] = -1
            support[code], size[code] = 0, 0
        for index in range(hits):
            code = codes[hit[index]]
            if next_free[code] >= 0:
                places[next_free[code]] = hit[index]
                next_free[code] += 1
    return parent[:found].copy(), item_of[:found].copy(), support_of[:found].copy()
