import numpy as np

from ops.patterns.occurrences import Occurrences

FOUND = Occurrences(np.array([0, 2, 3, 1], np.int32), np.array([0, 3, 3, 4], np.int64))


def test_support_counts_the_pairs_of_each_pattern():
    assert FOUND.support().tolist() == [3, 0, 1]
