from itertools import pairwise

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ops.meaning.counts import ContextTables, Vocabulary, factorise, ppmi

# Three counted words; b is also a context word, and d is only a context word.
NUMBERS = np.array([0, 1, 2, -1], np.int32), np.array([-1, 0, -1, 1], np.int32)
VOCABULARY = Vocabulary(["a", "b", "c", "d"], np.array([9, 8, 7, 1]), *NUMBERS)
ROW, COLUMN, COUNT = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), np.array([4, 1, 2, 3])


def test_the_tables_are_those_of_the_counts_however_they_are_cut() -> None:
    sums = np.bincount(COLUMN, COUNT).astype(np.int64)
    expected = ppmi(COUNT, ROW, COLUMN, np.bincount(ROW, COUNT).astype(np.int64), sums, 0.75)
    vectors = factorise(sp.csr_matrix((expected, (ROW, COLUMN)), (3, 2)), 2, 0.5, 0)
    for cuts in ([0, 4], [0, 2, 3, 4]):
        tables = ContextTables(VOCABULARY, sums, 0.75)
        ranges = [pa.table({"row": ROW[a:b], "column": COLUMN[a:b], "count": COUNT[a:b]}) for a, b in pairwise(cuts)]
        pairs = pa.concat_tables(tables.pairs(ranges))
        assert pairs["word"].to_pylist() == ["a", "a", "b", "c"]
        assert pairs["context"].to_pylist() == ["b", "d", "d", "b"]
        assert pairs["count"].to_pylist() == COUNT.tolist()
        np.testing.assert_array_equal(pairs["ppmi"].to_numpy(), expected.astype(np.float32))
        words = tables.vectors(2, 0.5, 0)
        assert words["word"].to_pylist() == ["a", "b", "c"]
        assert words["count"].to_pylist() == [9, 8, 7]
        np.testing.assert_array_equal(np.array(words["vector"].to_pylist(), np.float32), vectors)
