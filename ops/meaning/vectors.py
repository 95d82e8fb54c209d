"""From counts of contexts to vectors: positive pointwise mutual information, truncated SVD, and their tables."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ops.arrays import Float32s, Float64s, Int64s
from ops.meaning.vocabulary import Vocabulary
from ops.sampling import random_state
from ops.schema import group_rows, schema
from ops.shards import spans

CONTEXTS, WORDS = "meaning/contexts", "meaning/words"
_OVERSAMPLES, _ITERATIONS = 20, 7


def ppmi(
    count: Int64s, row: Int64s, column: Int64s, row_sums: Int64s, column_sums: Int64s, smoothing: float
) -> Float64s:
    """Return the positive pointwise mutual information of pairs, in nats (Levy, Goldberg and Dagan 2015).

    The value is max(0, ln(P(w, c) / (P(w) P_s(c)))). P(w, c) is the pair's share of all pairs, and P(w) is the word's
    share. P_s(c) is the context word's share after counts are raised to the power `smoothing`, which is 0.75 in the
    paper; 1 leaves the counts unchanged.

    Args:
        count: the count of each pair, `[pairs]`.
        row, column: the index of each pair's word and of its context word, `[pairs]`.
        row_sums, column_sums: the sum of counts over all pairs of each word, `[words]`, and of each context word,
            `[contexts]`.

    >>> two = np.array([0, 1]), np.array([0, 1]), np.array([3, 3]), np.array([3, 3])
    >>> ppmi(np.array([3, 3]), *two, 0.75).round(3).tolist()
    [0.693, 0.693]
    """
    smoothed = np.maximum(column_sums.astype(np.float64) ** smoothing, 1e-300)
    # ln(count / row_sum) - ln(share of the context word): the total number of pairs cancels.
    share = np.log(smoothed) - np.log(smoothed.sum()) if len(smoothed) else smoothed
    return np.asarray(np.maximum(np.log(count) - np.log(row_sums[row].astype(np.float64)) - share[column], 0.0))


def factorise(matrix: sp.csr_matrix, dimensions: int, power: float, seed: int) -> Float32s:
    """Return a vector for each row of a sparse matrix, `[rows, dimensions]` float32: U S^power of its truncated SVD.

    This function uses scikit-learn's randomized SVD (Halko, Martinsson and Tropp 2011) on one thread, so that every run
    gives the same bits. The vectors have fewer dimensions if the matrix has fewer rows or columns.

    Args:
        matrix: the sparse matrix, `[rows, columns]`.
        power: the exponent of the singular values. 1 preserves the rows' inner products best; 0.5 and less give the
            first dimensions less weight.
    """
    from sklearn.utils.extmath import randomized_svd
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    wanted = min(dimensions, *matrix.shape)
    with threadpool_limits(1):
        left, values, _ = randomized_svd(
            matrix, wanted, n_oversamples=_OVERSAMPLES, n_iter=_ITERATIONS, random_state=random_state(seed)
        )
    return np.asarray(left * values**power, np.float32)


class ContextTables:
    """Makes the tables of counts, given how often each context word was counted, `[contexts]`; keeps all pairs."""

    def __init__(self, vocabulary: Vocabulary, column_sums: Int64s, smoothing: float) -> None:
        self.vocabulary, self.column_sums, self.smoothing = vocabulary, column_sums, smoothing
        self.words, self.contexts = (np.array(w, object) for w in (vocabulary.rows, vocabulary.columns))
        self._parts: list[tuple[Int64s, Int64s, Float64s]] = []

    def pairs(self, ranges: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Yield `meaning/contexts`, one table for each row group, and keep the PPMI values for the vectors.

        `ranges` are, for each range of words, the `row`, `column` and `count` of all its pairs.
        """
        for table in ranges:
            row, column, count = (c.to_numpy() for c in table.columns)
            row_sums = np.bincount(row, count, len(self.words)).astype(np.int64)
            values = ppmi(count, row, column, row_sums, self.column_sums, self.smoothing)
            self._parts.append((row, column, values))
            for first, stop in spans(len(row), group_rows(CONTEXTS)):
                piece = slice(first, stop)
                columns = {
                    "word": self.words[row[piece]], "context": self.contexts[column[piece]], "count": count[piece],
                    "ppmi": values[piece].astype(np.float32),
                }  # fmt: skip
                yield pa.table(columns, schema=schema(CONTEXTS))

    def vectors(self, dimensions: int, power: float, seed: int) -> pa.Table:
        """Return `meaning/words`; call this method after `pairs` has processed all ranges.

        The arguments are those of `factorise`.
        """
        row, column, values = (np.concatenate(c) for c in zip(*self._parts, strict=True))
        matrix = sp.csr_matrix((values, (row, column)), (len(self.words), len(self.contexts)))
        vectors = pa.array(list(factorise(matrix, dimensions, power, seed)))
        counts = self.vocabulary.counts[self.vocabulary.row >= 0]
        columns = {"word": self.words, "count": counts, "vector": vectors}
        return pa.table(columns, schema=schema(WORDS))
