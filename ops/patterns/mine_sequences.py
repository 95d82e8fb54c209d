"""Mines frequent subsequences under a gap limit, on flat arrays."""

import numpy as np

from ops.arrays import Int32s, Int64s, UInt8s
from ops.compiled import compiled
from ops.patterns.mined import (
    COLUMNS,
    GROWN,
    KEPT,
    SEEN,
    SUPPORT,
    Mined,
    by_document,
    count_once,
    document_sizes,
    is_frequent,
    longer,
)
from ops.patterns.sequences import Sequences


def mine_sets(
    sequences: Sequences, sets: Sequences, min_support: Int64s, max_length: int, max_gap: int, marks: UInt8s,
    documents: Int32s,
) -> Mined:  # fmt: skip
    """Return every frequent subsequence of the sentences of each set.

    Support is the number of sentences that contain the pattern. A pattern is listed after its own prefixes, and the
    order is always the same. The algorithm is PrefixSpan (Pei et al. 2004). With a gap limit, all positions of a
    pattern's last item are kept, because the first one may not be the one that can be extended.

    Args:
        sequences: the sentences of all sets.
        sets: the members of each set, as indices into `sequences`.
        min_support: the minimum supports in each set, in its first half and in its second, `[sets, 3]`. A pattern is
            frequent if it reaches one of them; `NEVER` is none.
        max_length: maximum number of items of a pattern.
        max_gap: the maximum number of items between two neighbouring items of a pattern. 0 means contiguous patterns;
            -1 means no limit.
        marks: the marks of each sentence, a sum of `MARK` and `FIRST_HALF`, `[sentences]`.
        documents: the code of each sentence's document, `[sentences]`.

    Raises ValueError if a minimum or maximum is below 1.
    """
    if min_support.min(initial=1) < 1 or max_length < 1:
        raise ValueError("sequences: the minimum support and the maximum length must be at least 1")
    n_codes = int(sequences.items.max(initial=-1)) + 1
    # numpy's zeros cost nothing until touched, which matters if millions of words are known but few occur.
    code_of, support = np.zeros(n_codes, np.int32), np.zeros(n_codes, np.int32)
    members = by_document(sets, documents)
    parts = []
    for first, stop, least in zip(sets.offsets[:-1], sets.offsets[1:], min_support, strict=True):
        rows = members[first:stop]
        codes, starts, alphabet = _relabelled(
            sequences.items, sequences.offsets, rows, least.min(), max_gap, code_of, support
        )
        grown = _mine(
            codes, starts, marks[rows], documents[rows], document_sizes(documents[rows]), alphabet.size, least,
            max_length, max_gap,
        )  # fmt: skip
        grown[:, 1] = alphabet[grown[:, 1]]
        parts.append(grown)
    return Mined.grown(parts)


@compiled
def _relabelled(
    items: Int32s, offsets: Int64s, members: Int32s, min_support: int, max_gap: int, code_of: Int32s, support: Int32s
) -> tuple[Int32s, Int64s, Int32s]:
    """Return a set's sentences restricted to its frequent items, as codes, and the item of each code, ascending.

    Without a gap limit, infrequent items are removed. With a limit, they keep their place as -1. `code_of` and
    `support` are scratch space that must be zero for every item, and are zero again afterwards.
    """
    size = 0
    for member in members:
        size += offsets[member + 1] - offsets[member]
    seen, n_seen = np.empty(size, np.int32), 0
    for sentence in range(members.size):
        for position in range(offsets[members[sentence]], offsets[members[sentence] + 1]):
            item = items[position]
            if code_of[item] != sentence + 1:
                if code_of[item] == 0:
                    seen[n_seen] = item
                    n_seen += 1
                code_of[item] = sentence + 1
                support[item] += 1
    frequent = 0
    for index in range(n_seen):
        if support[seen[index]] >= min_support:
            seen[frequent], seen[index] = seen[index], seen[frequent]
            frequent += 1
    alphabet = np.sort(seen[:frequent])
    for index in range(n_seen):
        code_of[seen[index]] = -1
        support[seen[index]] = 0
    for code in range(frequent):
        code_of[alphabet[code]] = code
    codes, code_offsets, kept = np.empty(size, np.int32), np.zeros(members.size + 1, np.int64), 0
    for sentence in range(members.size):
        for position in range(offsets[members[sentence]], offsets[members[sentence] + 1]):
            code = code_of[items[position]]
            if code >= 0 or max_gap >= 0:
                codes[kept] = code
                kept += 1
        code_offsets[sentence + 1] = kept
    for index in range(n_seen):
        code_of[seen[index]] = 0
    return codes[:kept], code_offsets, alphabet


@compiled
def _mine(
    codes: Int32s, offsets: Int64s, marks: UInt8s, documents: Int32s, document_size: Int64s, n_items: int,
    least: Int64s, max_length: int, max_gap: int,
) -> Int64s:  # fmt: skip
    """Grow patterns by one item at a time, and return what `Mined.grown` takes.

    A document's sentences must be consecutive. A pattern's matches are positions of its last item: the first one in
    each sentence or, with a gap limit, all of them.
    """
    n_sentences, n_codes = offsets.size - 1, codes.size
    sentence_of = np.repeat(np.arange(n_sentences, dtype=np.int32), np.diff(offsets))
    counts = np.zeros((n_items, COLUMNS), np.int64)
    size, next_free = np.zeros(n_items, np.int64), np.zeros(n_items, np.int64)
    touched, hit = np.empty(n_items + 1, np.int32), np.empty(n_codes + 1, np.int32)
    positions = np.empty(2 * n_codes + 1, np.int32)
    grown, n_grown, stamp, document_stamp = np.empty((1024, GROWN), np.int64), 0, 0, 0
    pending = [(-1, 1, 0, n_sentences)]
    while pending:
        pattern, length, begin, end = pending.pop()
        deepest = length == max_length
        n_touched, hits, reached, current, document, mark, sentences = 0, 0, 0, -1, -1, 0, 0
        for entry in range(begin, end):
            if pattern < 0:
                sentence, start = entry, offsets[entry]
            else:
                start = np.int64(positions[entry]) + 1
                sentence = int(sentence_of[start - 1])
            stop = offsets[sentence + 1]
            if sentence != current:
                current = sentence
                stamp += 1
                mark = int(marks[sentence])
                if documents[sentence] != document:
                    document, sentences = documents[sentence], document_size[sentence]
                    document_stamp += 1
            if pattern >= 0:
                # Windows of one sentence overlap. A part that an earlier window has covered is not visited again.
                stop = stop if max_gap < 0 else min(stop, start + 1 + max_gap)
                start = max(start, reached)
                reached = stop
            for position in range(start, stop):
                code = codes[position]
                if code >= 0:
                    if counts[code, SEEN] != stamp:
                        counts[code, SEEN] = stamp
                        if counts[code, SUPPORT] == 0:
                            touched[n_touched] = code
                            n_touched += 1
                        count_once(counts, code, mark, document_stamp, sentences)
                    elif max_gap < 0:
                        continue  # the first position of the item is enough
                    if not deepest:
                        hit[hits] = position
                        size[code] += 1
                        hits += 1
        top = end if pattern >= 0 else 0
        if top + hits > positions.size:
            positions = longer(positions, top + hits)
        if n_grown + n_touched > len(grown):
            grown = longer(grown, n_grown + n_touched)
        for code in np.sort(touched[:n_touched]):
            if is_frequent(counts, code, least):
                grown[n_grown, 0], grown[n_grown, 1] = pattern, code
                grown[n_grown, 2:] = counts[code, :KEPT]
                if not deepest:
                    next_free[code] = top
                    top += size[code]
                    pending.append((n_grown, length + 1, next_free[code], top))
                n_grown += 1
            else:
                next_free[code] = -1
            counts[code, :KEPT] = 0
            size[code] = 0
        for index in range(hits):
            code = codes[hit[index]]
            if next_free[code] >= 0:
                positions[next_free[code]] = hit[index]
                next_free[code] += 1
    return grown[:n_grown].copy()
