import numpy as np

from ops.patterns.grown import spell


def test_patterns_spell_their_whole_line_of_parents():
    found = spell(np.array([-1, 0, 1, -1, 3]), np.array([5, 6, 7, 8, 5]))
    assert found.to_lists() == [[5], [5, 6], [5, 6, 7], [8], [8, 5]]
    assert (found.items.dtype, found.offsets.dtype) == (np.int32, np.int64)


def test_no_patterns_spell_nothing():
    assert spell(np.zeros(0, np.int64), np.zeros(0, np.int64)).to_lists() == []
