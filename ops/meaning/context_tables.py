"""The tables of counted contexts: `meaning/contexts` with the PPMI of each pair, `meaning/words` with the vectors."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ops.arrays import Float64s, Int64s
from ops.meaning.vectors import factorise, ppmi
from ops.meaning.vocabulary import Vocabulary
from ops.schema import group_rows, schema
from ops.shards import spans

CONTEXTS, WORDS = "meaning/contexts", "meaning/words"


class ContextTables:
    """Makes the tables of counts; all pairs are kept in memory.

    Args:
        vocabulary: the words.
        column_sums: how often each context word was counted, `[contexts]`.
        smoothing: the smoothing exponent of the PPMI.
    """

    def __init__(self, vocabulary: Vocabulary, column_sums: Int64s, smoothing: float) -> None:
        self.vocabulary, self.column_sums, self.smoothing = vocabulary, column_sums, smoothing
        self.words, self.contexts = (np.array(w, object) for w in (vocabulary.rows, vocabulary.columns))
        self._parts: list[tuple[Int64s, Int64s, Float64s]] = []

    def pairs(self, ranges: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Yield `meaning/contexts`, one table for each row group, and keep the PPMI values for the vectors.

        Args:
            ranges: for each range of words, a table of `row`, `column` and `count` of all its pairs.
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

        Args:
            dimensions: maximum number of dimensions of the vectors.
            power: the exponent of the singular values.
            seed: the seed of the random projection.
        """
        row, column, values = (np.concatenate(c) for c in zip(*self._parts, strict=True))
        matrix = sp.csr_matrix((values, (row, column)), (len(self.words), len(self.contexts)))
        vectors = pa.array(list(factorise(matrix, dimensions, power, seed)))
        columns = {"word": self.vocabulary.rows, "count": self.vocabulary.row_counts, "vector": vectors}
        return pa.table(columns, schema=schema(WORDS))
