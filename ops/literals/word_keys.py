"""Words of sentences and pairs of neighbouring words, each identified by one number, its key."""

import numpy as np

from ops.arrays import Int64s, UInt64s, begins_group
from ops.patterns.sequences import Sequences
from ops.sampling import FREQUENT_WORDS, priorities
from ops.sentences.mining_view import MiningView
from ops.shards import spans

LEAST_DOCUMENTS = 4  # from which a word counts, because fewer cannot show what a set of winners has in common
_ROWS = 1 << 16  # sentences processed at once; a key times this number is still below 2**63
_MOST_KEYS = 1 << 23  # words and pairs of all sentences that are counted at once, in about 500 MB


def distinct_keys(words: Sequences, names: int) -> tuple[Int64s, Int64s]:
    """Return the words and pairs that each sentence contains, once each: their keys and the indices of the sentences.

    They ascend by key and then by sentence. The key of a word is its code. The key of a pair of neighbours, the words
    `a` and `b`, is `(a + 1) * names + b`.

    Args:
        words: the words of at most 65,536 sentences, as codes.
        names: number of distinct words; every code is below it.

    >>> key, sentence = distinct_keys(Sequences.from_lists([[0, 1, 0, 1], [1]]), 2)
    >>> key.tolist(), sentence.tolist()
    ([0, 1, 1, 3, 4], [0, 0, 1, 0, 0])
    """
    n = max(len(words), 1)
    sentence = np.repeat(np.arange(len(words)), words.lengths)
    item = words.items.astype(np.int64)
    is_pair = sentence[1:] == sentence[:-1]
    pairs = (item[:-1][is_pair] + 1) * names + item[1:][is_pair]
    numbers = np.concatenate((item * n + sentence, pairs * n + sentence[1:][is_pair]))
    return np.divmod(np.unique(numbers), n)


def words_of(key: int, names: int) -> list[int]:
    """Return the codes of the word, or of the two words, with this key.

    >>> words_of(4, 2), words_of(1, 2)
    ([1, 0], [1])
    """
    first, last = divmod(key, names)
    return [first - 1, last] if first else [last]


def count_frequent(view: MiningView, seed: int) -> int:
    """Return the number of words and pairs that at least four documents of all annotated sentences contain.

    If the sentences have more than 8 million words and pairs, the number is estimated from a uniform sample of the
    keys, each of which is counted in all sentences. The memory therefore does not grow with the corpus.

    Args:
        view: the sentences, with words in lower case.
        seed: the seed of that sample.
    """
    store, names, sentences = view.store, len(view.word_names), len(view.store.sent_id)
    blocks = [np.arange(first, stop) for first, stop in spans(sentences, _ROWS)]
    every = 2 * sum(int(store.lengths(rows).sum()) for rows in blocks)
    share = min(_MOST_KEYS / max(every, 1), 1.0)
    parts = [np.zeros((2, 0), np.int64)]
    for rows in blocks:
        key, sentence = distinct_keys(view.words(rows), names)
        if share < 1:
            kept = _sampled(key.view(np.uint64), share, seed)
            key, sentence = key[kept], sentence[kept]
        parts.append(np.stack((key, store.doc[rows[sentence]].astype(np.int64))))
    key, document = np.concatenate(parts, axis=1)
    order = np.lexsort((document, key))
    key, document = key[order], document[order]
    documents = np.unique(key[begins_group(key, document)], return_counts=True)[1]
    return round(np.count_nonzero(documents >= LEAST_DOCUMENTS) / share)


def _sampled(keys: UInt64s, share: float, seed: int) -> Int64s:
    return np.flatnonzero(priorities(keys, seed, FREQUENT_WORDS) < np.uint64(min(share * 2.0**64, 2.0**64 - 2048)))
