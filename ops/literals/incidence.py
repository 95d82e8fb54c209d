"""Which of some sentences have which literals, as a sparse matrix of ones, `[literals, sentences]` int8."""

import numpy as np
from scipy.sparse import csr_array

from ops.arrays import Bools, Int8s, Int32s, Int64s
from ops.compiled import compiled
from ops.mine.value_counts import distinct_values, occurrences_of
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences


def incidence(found: Occurrences, sentences: int) -> csr_array:
    """Return the matrix of the occurrences of L literals in sentences, `[L, sentences]`."""
    ones = np.ones(len(found.sentences), np.int8)
    return csr_array((ones, found.sentences, found.offsets), (len(found.offsets) - 1, sentences))


def incidence_of_words(words: Sequences, names: int) -> csr_array:
    """Return which sentences have each of `names` words, `[names, sentences]`, given their words as codes."""
    return incidence(occurrences_of(distinct_values(words, names), np.arange(names), names), len(words))


def occurrences(matrix: csr_array) -> Occurrences:
    """Return the sentences that have each literal."""
    return Occurrences(matrix.indices.astype(np.int32, copy=False), matrix.indptr.astype(np.int64, copy=False))


def having(matrix: csr_array, literal: int) -> Bools:
    """Return which sentences have a literal, `[sentences]`."""
    has = np.zeros(matrix.shape[1], np.bool_)
    has[matrix.indices[matrix.indptr[literal] : matrix.indptr[literal + 1]]] = True
    return has


def count_by_fold(by_sentence: csr_array, sentences: Int64s, fold: Int8s, folds: int) -> Int32s:
    """Return how many of some sentences of each fold have each literal, `[L, folds]`.

    Args:
        by_sentence: the literals of each sentence, `[n, L]`.
        sentences: indices of the sentences to count.
        fold: the fold of each of them.
        folds: the number of folds.
    """
    starts, literals = by_sentence.indptr, by_sentence.indices
    return _count_by_fold(literals, starts, sentences, fold, folds, by_sentence.shape[1])


@compiled
def _count_by_fold(literals: Int32s, starts: Int64s, sentences: Int64s, fold: Int8s, folds: int, size: int) -> Int32s:
    counts = np.zeros((size, folds), np.int32)
    for place in range(sentences.size):
        own = fold[place]
        for pair in range(starts[sentences[place]], starts[sentences[place] + 1]):
            counts[literals[pair], own] += 1
    return counts


def one_row(sentences: Int64s, size: int) -> csr_array:
    """Return the matrix of one literal that these of `size` sentences have."""
    return incidence(Occurrences(sentences.astype(np.int32), np.array([0, len(sentences)])), size)
