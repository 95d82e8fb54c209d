"""Vectors of drawn sentences, by sentence."""

import numpy as np
import pyarrow as pa

from ops.compare.diversity import SentenceVectors
from ops.storage.arrays import write_arrays


def embedded(sent_ids: list[int]) -> pa.Table:
    """Sentence i has the vector (i, -i); that of sentence 5 is not finite."""
    values = np.array([[np.nan if i == 5 else i, -i] for i in sent_ids], np.float32)
    return write_arrays(sent_ids=sent_ids, vectors=values)


def test_vectors_that_are_not_finite_are_left_out_with_their_times() -> None:
    vectors = SentenceVectors([embedded([1, 3, 5]), embedded([10, 12])])
    found, times = vectors.of(pa.table({"sent_id": [12, 5, 1], "times": [4, 2, 7]}))
    assert found.tolist() == [[12, -12], [1, -1]]
    assert times.tolist() == [4, 7]
