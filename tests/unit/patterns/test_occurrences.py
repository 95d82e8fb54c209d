import numpy as np
import pytest

from ops.patterns.occurrences import Occurrences

FOUND = Occurrences(np.array([0, 2, 3, 1], np.int32), np.array([0, 3, 3, 4], np.int64))


def test_support_counts_the_pairs_of_each_pattern():
    assert FOUND.support().tolist() == [3, 0, 1]


def test_support_within_counts_the_chosen_sentences_only():
    assert FOUND.support_within([True, True, False, True]).tolist() == [2, 0, 1]
    assert FOUND.support_within(np.zeros(4, bool)).tolist() == [0, 0, 0]


def test_what_the_documents_of_each_pattern_hold_is_counted():
    documents, squares, products = FOUND.by_document([5, 5, 5, 1])
    assert documents.tolist() == [2, 0, 1]
    assert squares.tolist() == [2**2 + 1, 0, 1]
    assert products.tolist() == [2 * 3 + 1 * 1, 0, 3]
    assert [found.tolist() for found in FOUND.by_document([0, 1, 2, 3])] == [[3, 0, 1]] * 3


def test_a_missing_code_is_refused():
    with pytest.raises(ValueError, match="must not be negative"):
        FOUND.by_document([0, -1, 0, 0])
