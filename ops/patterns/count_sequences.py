"""Counts given patterns in sentences, by one search along the patterns' trie instead of a pass for each pattern."""

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.patterns.mined import longer
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences

# Sentences searched at once: their items and matches stay in the processor's cache.
CHUNK = 8192


def count(sequences: Sequences, patterns: Sequences | SequenceTrie, max_gap: int = -1) -> Int64s:
    """Return the number of sentences that contain each pattern as a subsequence, `[n_patterns] int64`.

    `max_gap` is the maximum number of items between two neighbouring items of a pattern. 0 means contiguous patterns;
    -1 means no limit. If several shards are counted, build the `SequenceTrie` once and pass it.

    >>> sentences = Sequences.from_lists([[0, 1, 2], [0, 2], [2, 0]])
    >>> patterns = Sequences.from_lists([[0], [0, 2]])
    >>> count(sentences, patterns).tolist(), count(sentences, patterns, max_gap=0).tolist()
    ([3, 2], [3, 1])
    """
    return _run(sequences, patterns, max_gap, record=False)[0]


def occurrences(sequences: Sequences, patterns: Sequences | SequenceTrie, max_gap: int = -1) -> Occurrences:
    """Return which of the sentences contain each pattern, under the same rule as `count`."""
    return Occurrences.gather(*_run(sequences, patterns, max_gap, record=True))


def _run(
    sequences: Sequences, patterns: Sequences | SequenceTrie, max_gap: int, record: bool
) -> tuple[Int64s, list[tuple[Int32s, Int32s]], Int32s]:
    trie = patterns if isinstance(patterns, SequenceTrie) else SequenceTrie.build(patterns)
    support = np.zeros(trie.label.size, np.int64)
    recorded = trie.is_end if record else np.zeros(trie.label.size, bool)
    pairs = []
    for first in range(0, len(sequences), CHUNK):
        offsets = sequences.offsets[first : first + CHUNK + 1]
        codes = trie.compact(sequences.items[offsets[0] : offsets[-1]])
        part = Sequences(codes, offsets - offsets[0])
        if max_gap < 0:
            # Without a gap limit, items that are in no pattern are removed. With a limit, they keep their place as -1.
            part = part.where(codes >= 0)
        node, sentence = _search(part.items, part.offsets, trie.label, trie.first_child, max_gap, recorded, support)
        pairs.append((node, sentence + np.int32(first)))
    return support[trie.node_of], pairs, trie.node_of


@compiled
def _search(
    codes: Int32s, offsets: Int64s, label: Int32s, first_child: Int32s, max_gap: int, recorded: Bools, support: Int64s
) -> tuple[Int32s, Int32s]:
    """Add each node's number of sentences to `support [n_nodes]`; return the pairs of `recorded` nodes and sentences.

    A node's matches are positions of its last item: the first one in each sentence or, with a gap limit, all of them.
    """
    n_sentences, n_codes = offsets.size - 1, codes.size
    sentence_of = np.empty(n_codes, np.int32)
    for sentence in range(n_sentences):
        sentence_of[offsets[sentence] : offsets[sentence + 1]] = sentence
    child_of = np.full(label.max() + 1, -1, np.int32)
    last = np.full(label.size, -1, np.int32)
    size = np.zeros(label.size, np.int64)
    hit_node, hit_position = np.empty(n_codes, np.int32), np.empty(n_codes, np.int32)
    # The matches of nodes still to be visited. A level never has more matches than there are codes, but the total
    # number is not known in advance.
    positions = np.empty(2 * n_codes + 1, np.int32)
    pair_node, pair_sentence, pairs = np.empty(1024, np.int32), np.empty(1024, np.int32), 0
    pending = [(0, 0, n_sentences)]
    while pending:
        node, begin, end = pending.pop()
        for child in range(first_child[node], first_child[node + 1]):
            child_of[label[child]] = child
        if pairs + n_codes > pair_node.size:
            pair_node = longer(pair_node, pairs + n_codes)
            pair_sentence = longer(pair_sentence, pairs + n_codes)
        hits, reached = 0, 0
        for entry in range(begin, end):
            if node == 0:
                sentence, start, stop = entry, offsets[entry], offsets[entry + 1]
            else:
                position = positions[entry]
                sentence = sentence_of[position]
                start, stop = max(np.int64(position) + 1, reached), offsets[sentence + 1]
                if max_gap >= 0:
                    stop = min(stop, np.int64(position) + 2 + max_gap)
            for position in range(start, stop):
                code = codes[position]
                child = child_of[code] if code >= 0 else -1
                if child < 0:
                    continue
                if last[child] != sentence:
                    last[child] = sentence
                    support[child] += 1
                    if recorded[child]:
                        pair_node[pairs], pair_sentence[pairs] = child, sentence
                        pairs += 1
                elif max_gap < 0:
                    continue
                if first_child[child + 1] > first_child[child]:
                    hit_node[hits], hit_position[hits] = child, position
                    size[child] += 1
                    hits += 1
            # Windows of one sentence overlap. A part that an earlier window has covered is not visited again.
            reached = max(reached, stop)
        top = end if node else 0
        if top + hits > positions.size:
            positions = longer(positions, top + hits)
        for child in range(first_child[node], first_child[node + 1]):
            child_of[label[child]] = -1
            if size[child]:
                pending.append((child, top, top + size[child]))
                top += size[child]
                size[child] = pending[-1][1]
        for hit in range(hits):
            positions[size[hit_node[hit]]] = hit_position[hit]
            size[hit_node[hit]] += 1
        for child in range(first_child[node], first_child[node + 1]):
            size[child] = 0
    return pair_node[:pairs].copy(), pair_sentence[:pairs].copy()
