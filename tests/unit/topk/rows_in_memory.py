from typing import NamedTuple

import pyarrow as pa

from ops.topk.partial_file import OF_ALL, ShardRows
from ops.topk.shard_sums import ShardTotals


class ShardResult(NamedTuple):
    """The rows of a shard in memory, and its sums."""

    table: pa.Table
    totals: ShardTotals


def table_of(rows: ShardRows) -> pa.Table:
    """The rows of all neurons."""
    return pa.concat_tables(rows.parts()).combine_chunks()


def rows_of(table: pa.Table) -> ShardRows:
    """The rows of a table of all neurons that is in memory."""

    def rows(first: int, stop: int) -> pa.Table:
        return table.slice(first, stop - first)

    def of_all(first: int, stop: int) -> pa.Table:
        return rows(first, stop).select([name for name in OF_ALL if name in table.column_names])

    return ShardRows(len(table), rows, of_all)
