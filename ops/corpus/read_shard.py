"""Functions that read a shard of corpus/ for a pass of the model, or some sentences of all shards."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from ops.shards import Ids, Shards
from ops.storage.range_file import read_each, take_rows
from ops.storage.store import Store
from ops.storage.tables import part_name

_COLUMNS = ["sent_id", "text", "n_tokens"]


def read_shard(store: Store, shard: int, rows: Ids | None = None) -> tuple[Ids, list[str], Ids]:
    """Return the ids, texts and token counts of a shard's sentences, or of the sentences with the ascending ids `rows`.

    Row groups without any of these sentences are not read.
    """
    table = read_columns(store, shard, rows, _COLUMNS)
    return table["sent_id"].to_numpy(), table["text"].to_pylist(), table["n_tokens"].to_numpy()


def read_columns(store: Store, shard: int, rows: Ids | None, columns: list[str]) -> pa.Table:
    """Return columns of a shard's sentences, or of the sentences with the ascending ids `rows`."""
    with store.parquet(part_name("corpus", shard)) as file:
        return file.read(columns=columns) if rows is None else take_sentences(file, rows, columns)


def take_sentences(file: pq.ParquetFile, ids: Ids, columns: list[str]) -> pa.Table:
    """Return the sentences with these ascending ids from an open file of a shard that is sorted by `sent_id`."""
    # The ids of a shard are consecutive.
    index = file.schema_arrow.get_field_index("sent_id")
    first = file.metadata.row_group(0).column(index).statistics.min if file.num_row_groups else 0
    tables = [some for _, some in take_rows(file, ids - first, columns)]
    return pa.concat_tables(tables) if tables else file.read_row_groups([], columns=columns)


def read_rows(store: Store, shards: Shards, ids: Ids, columns: list[str]) -> Iterator[pa.Table]:
    """Yield the sentences of corpus/ with these ascending ids, one table for each shard that contains any of them."""
    places = {part: rows - shards.span(part)[0] for part, rows in enumerate(shards.split(ids)) if len(rows)}
    tables = read_each(store, (part_name("corpus", part) for part in places), columns)
    return (table.take(pa.array(rows)) for table, rows in zip(tables, places.values(), strict=True))
