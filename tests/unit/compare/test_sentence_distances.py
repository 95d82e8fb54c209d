"""Sentences' distances as tables."""

import numpy as np
import pytest

from ops.compare.sentence_distances import from_table, to_table


@pytest.mark.parametrize("sentences", [0, 1, 5])
def test_distances_come_back_as_they_were(sentences: int) -> None:
    distances = np.random.default_rng(0).random((2, sentences, 3))
    found = from_table(to_table(distances))
    assert found.shape == (2, sentences, 3)
    assert (found == distances).all()
