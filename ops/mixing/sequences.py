"""The sequences that a model reads for mixing: sentences of a shard, packed, tokenized and masked."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ops.mixing.pack import Packed, pack
from ops.mixing.shard import Batches
from ops.model.batches import batch_lengths, encode_batches
from ops.model.mask_tokens import mask_tokens
from ops.model.token_block import TokenBlock
from ops.model.tokenizer import Tokenizer
from ops.shards import Ids
from ops.storage.store import Store
from ops.storage.tables import part_name

COLUMNS = ["sent_id", "text", "n_tokens", "dataset", "doc_id"]


@dataclass(frozen=True)
class SequenceReader:
    """Reads sentences as the sequences that are measured.

    Attributes:
        tokenizer: the model's tokenizer.
        device, token_budget: the model's device, and the maximum number of tokens of a batch.
        pack: maximum number of tokens of a sequence of consecutive sentences; 0 makes each sentence a sequence.
        mask_rate: the share of the tokens that are replaced by the mask token.
        seed: the seed of the draw of these tokens.
    """

    tokenizer: Tokenizer
    device: str
    token_budget: int
    pack: int
    mask_rate: float
    seed: int

    def read(self, store: Store, parts: Sequence[tuple[int, Ids | None]]) -> Packed:
        """Return the sequences of some parts of corpus/, or of the sentences in them with the given ascending ids.

        No sequence extends beyond the end of the last part.
        """
        tables = []
        for part, ids in parts:
            with store.parquet(part_name("corpus", part)) as file:
                table = file.read(columns=COLUMNS)
            tables.append(table if ids is None else table.filter(pc.is_in(table["sent_id"], pa.array(ids))))
        table = pa.concat_tables(tables)
        documents = list(zip(table["dataset"].to_pylist(), table["doc_id"].to_pylist(), strict=True))
        added = sum(self.tokenizer.encode(["a"])[0].added)
        sent_ids, n_tokens = table["sent_id"].to_numpy(), table["n_tokens"].to_numpy()
        return pack(sent_ids, table["text"].to_pylist(), n_tokens, documents, self.pack, added)

    def batches(self, packed: Packed) -> Batches:
        """Return the batches of sequences, with tokens masked."""
        lengths = batch_lengths(self.device)
        columns = (packed.first, packed.texts, packed.n_tokens)
        return self.masked(encode_batches(*columns, self.tokenizer, self.token_budget, lengths))

    def masked(self, batches: Batches) -> Batches:
        """Yield batches in which some of the tokens are replaced by the mask token."""
        own = self.tokenizer
        special = (own.cls_id, own.sep_id, own.mask_id, own.pad_id)
        spared = frozenset(i for i in special if i is not None) - {own.unknown_id}
        for first, batch in batches:
            if self.mask_rate and own.mask_id is not None:
                rate, mask, seed = self.mask_rate, own.mask_id, self.seed
                batch = [
                    mask_tokens(tokens, rate, mask, spared, seed, sent_id, self.pack > 0)
                    for tokens, sent_id in zip(batch, first.tolist(), strict=True)
                ]
            yield first, TokenBlock.of(batch)
