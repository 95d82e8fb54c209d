"""The tokens of corpus/ for a pass of the model: the tokens stored by ingest, or new ones from the tokenizer."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from ops.corpus.read_shard import read_shard, take_sentences
from ops.corpus.token_columns import block_of, shard_name
from ops.model.batches import TokenBlock, length_batches
from ops.model.tokenizer import Tokenizer
from ops.shards import Ids
from ops.storage.store import Store, is_marked
from ops.storage.tables import part_name


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
