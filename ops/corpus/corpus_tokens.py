"""The tokens of corpus/: as columns of the files of ingest, stored for each shard, and read for a pass of the model."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ops.corpus.read_shard import read_shard, take_sentences
from ops.model.batches import TokenBlock, length_batches
from ops.model.tokenizer import Tokenizer, Tokens
from ops.schema import group_rows
from ops.shards import Ids
from ops.storage.store import Store, is_marked
from ops.storage.tables import COMPRESSION, part_name

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


@dataclass(frozen=True)
class KeptTokens:
    """The place where ingest stored the tokens of corpus/, one file for each shard.

    Attributes:
        folder: folder of the files, relative to the run's folder.
        fingerprint: the fingerprint of the ingest that wrote corpus/; a file with another fingerprint is not read.
    """

    folder: str
    fingerprint: str


class CorpusTokens:
    """Reads the tokens of sentences of corpus/, shard by shard.

    Stored and newly computed tokens are the same. A shard whose file is missing or incomplete is tokenized again.

    Args:
        store: the run's folder.
        kept: where ingest stored the tokens; None if it did not store them.
        tokenizer: returns the corpus's tokenizer; called only if it is needed.
    """

    def __init__(self, store: Store, kept: KeptTokens | None, tokenizer: Callable[[], Tokenizer]) -> None:
        self.store, self.kept, self.tokenizer = store, kept, tokenizer

    def read(self, shard: int, ids: Ids | None = None) -> tuple[Ids, TokenBlock]:
        """Return the ids and tokens of a shard's sentences, or only of the sentences with the given ascending ids."""
        if self.kept is not None:
            name = part_name(self.kept.folder, shard)
            with suppress(OSError, pa.ArrowException), self.store.parquet(name) as file:
                if is_marked(file, self.kept.fingerprint, shard_name(shard)):
                    table = file.read() if ids is None else take_sentences(file, ids, file.schema_arrow.names)
                    return table["sent_id"].to_numpy(), block_of(table)
        sent_ids, texts, _ = read_shard(self.store, shard, ids)
        return sent_ids, TokenBlock.of(self.tokenizer().encode(texts))

    def batches(
        self, shard: int, budget: int, equal_lengths: bool = False, ids: Ids | None = None
    ) -> Iterator[tuple[Ids, TokenBlock]]:
        """Return the batches of all or some of a shard's sentences.

        Args:
            shard: the index of the shard.
            budget, equal_lengths: as `length_batches` takes them.
            ids: the ascending ids of some of the shard's sentences; None for all sentences.
        """
        return block_batches(*self.read(shard, ids), budget, equal_lengths)


def block_batches(
    sent_ids: Ids, block: TokenBlock, budget: int, equal_lengths: bool = False
) -> Iterator[tuple[Ids, TokenBlock]]:
    """Yield the same batches as `ops.model.batches.encode_batches`, for sentences that are already tokenized."""
    for rows in length_batches(block.lengths, budget, equal_lengths):
        yield sent_ids[rows], block.take(rows)
