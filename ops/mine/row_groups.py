"""Row groups that contain complete neurons."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ops.arrays import Int64s
from ops.mine.sentence_sets import spans_within


def row_groups(table: pa.Table, neuron: Int64s, limit: int) -> Iterator[pa.Table]:
    """Yield a table as row groups of at most `limit` rows, without splitting a neuron.

    A neuron with more rows than that is its own row group. `neuron [rows]` ascends.

    >>> rows = pa.table({"neuron": [0] * 2 + [1] * 3 + [2] * 9 + [3]})
    >>> [group.num_rows for group in row_groups(rows, rows["neuron"].to_numpy(), 5)]
    [5, 9, 1]
    """
    starts = np.append(np.flatnonzero(np.diff(neuron, prepend=-1)), len(neuron))
    for first, stop in spans_within(starts, limit):
        yield table.slice(starts[first], starts[stop] - starts[first])
