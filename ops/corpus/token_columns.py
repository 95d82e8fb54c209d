"""Tokens of sentences as columns, in the partial files of ingest and in the file that it stores for each shard."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ops.model.token_block import TokenBlock
from ops.model.tokenizer import Tokens
from ops.schema import group_rows
from ops.storage.tables import COMPRESSION

# A sentence's token ids, which of them the tokenizer added, and the number of tokens that were cut off at the limit.
TOKEN_COLUMNS = pa.schema([("ids", pa.list_(pa.uint32())), ("added", pa.list_(pa.bool_())), ("cut", pa.int32())])
GROUP_ROWS = group_rows("corpus")  # a group is requested from object storage once the previous one is decoded


def shard_name(shard: int) -> str:
    """Return the name of a shard's file that its footer contains."""
    return f"tokens-{shard}"


def token_columns(tokens: Sequence[Tokens]) -> dict[str, pa.Array]:
    """Return the tokens of sentences as `TOKEN_COLUMNS`."""
    block = TokenBlock.of(tokens)
    offsets = pa.array(block.offsets, pa.int32())
    flat = (pa.array(block.ids, pa.uint32()), pa.array(block.added))
    ids, added = (pa.ListArray.from_arrays(offsets, values) for values in flat)
    return {"ids": ids, "added": added, "cut": pa.array(block.cut)}


def kept_table(shard: pa.Table, highest_id: int) -> pa.Table:
    """Return a shard's file as a table of `sent_id` and `TOKEN_COLUMNS`; ids have two bytes if the vocabulary fits.

    Args:
        shard: the shard's sentences, with these columns among others.
        highest_id: the highest id of the tokenizer.
    """
    kind = pa.uint16() if highest_id < 1 << 16 else pa.uint32()
    layout = TOKEN_COLUMNS.set(0, pa.field("ids", pa.list_(kind))).insert(0, pa.field("sent_id", pa.int64()))
    return shard.select(layout.names).cast(layout)


def write_kept(table: pa.Table, path: str) -> None:
    """Write a shard's file in row groups, with checksums, so that a reader detects damage."""
    pq.write_table(
        table, path, row_group_size=GROUP_ROWS, compression=COMPRESSION, write_page_checksum=True,
        use_dictionary=False, column_encoding={"sent_id": "DELTA_BINARY_PACKED"},
    )  # fmt: skip


def block_of(table: pa.Table) -> TokenBlock:
    """Return the tokens of a table with `TOKEN_COLUMNS`."""
    ids, added = table["ids"], table["added"]
    lengths = pc.list_value_length(ids).to_numpy()
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    return TokenBlock(_flat(ids).astype(np.int32), _flat(added), offsets, table["cut"].to_numpy().astype(np.int32))


def _flat(lists: pa.ChunkedArray) -> Any:
    return pc.list_flatten(lists).to_numpy()
