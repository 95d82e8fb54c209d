"""The last step of `ingest`, which writes corpus/ from the numbered distinct sentences, and rejects/."""

import json
from collections.abc import Iterator
from itertools import zip_longest

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.ingest.deduplicate import distinct_file
from jobs.ingest.read import piece_file
from jobs.run_folder.stages import TOKENS
from jobs.stage.outputs import Output, TablePart, table_part
from jobs.stage.step import Step
from ops.arrays import Int64s
from ops.corpus.corpus_tokens import kept_table, shard_name, write_kept
from ops.corpus.exact_duplicates import FirstCopies
from ops.corpus.kept_sentences import KeptSentences, shards_of
from ops.corpus.numbering import Numbering, Pieces, corpus_parts, reject_parts
from ops.schema import group_rows, schema
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.storage.tables import part_name, write_part

SENTENCES_PER_ITEM = 200_000  # minimum number of sentences that one item writes
LENGTHS = b"atlas.lengths"


def open_kept_sentences(
    pieces: Pieces, texts: FirstCopies, numbering: Numbering, datasets: list[str], ranges: list[Item]
) -> KeptSentences:
    """Open the kept sentences and the rejects of the pieces, and the continued documents of the ranges of hashes."""
    kinds = ("sentences", "rejects")
    files = {kind: [piece_file(i, kind).path for i in range(len(pieces.sources))] for kind in kinds}
    files["documents"] = [distinct_file(item, "documents").path for item in ranges]
    return KeptSentences(texts.store, pieces, datasets, texts, files, numbering.last)


def corpus_tables_step(kept: KeptSentences, numbering: Numbering, size: int, highest_id: int, fingerprint: str) -> Step:
    """Return the step in which each item writes some shards of corpus/ and a part of rejects/."""
    shards, rejects = corpus_parts(numbering, size, SENTENCES_PER_ITEM), reject_parts(kept.pieces, SENTENCES_PER_ITEM)
    return Step(
        name="ingest: tables", outputs=lambda item: table_outputs(item, size), worker=TableWriter, unit="parts",
        items=[{"corpus": corpus, "rejects": rejected} for corpus, rejected in zip_longest(shards, rejects)],
        args={"kept": kept, "size": size, "highest_id": highest_id, "fingerprint": fingerprint},
    )  # fmt: skip


def table_outputs(item: Item, size: int) -> list[Output]:
    """Return the parts of rejects/ and corpus/ that an item writes, and the files of their tokens."""
    rejects = [_part("rejects", item["rejects"]["part"])] if item["rejects"] else []
    shards = [part for part, _ in shards_of(item["corpus"], size)] if item["corpus"] else []
    return rejects + [output for part in shards for output in (tokens_file(part), _part("corpus", part))]


def _part(table: str, part: int) -> TablePart:
    return table_part(table, part, f"{table}-{part}")


def tokens_file(shard: int) -> Output:
    """Return the file in which the tokens of a shard are stored."""
    return Output(part_name(TOKENS, shard), shard_name(shard), writer=write_kept)


class TableWriter:
    """Writes shards of corpus/ with their tokens, and parts of rejects/, from the partial files of the pieces."""

    def __init__(self, kept: KeptSentences, size: int, highest_id: int, fingerprint: str) -> None:
        self.kept, self.size, self.highest_id, self.fingerprint = kept, size, highest_id, fingerprint
        self.layout = schema("corpus", kept.pieces.all_keys())

    def __call__(self, item: Item) -> Item:
        """Write the parts of rejects/ and corpus/ of one item, with their tokens."""
        if found := item["rejects"]:
            own = self.kept.rejects(found["pieces"])
            self._write(_part("rejects", found["part"]), found["rows"], own, {}, schema("rejects"))
        if not item["corpus"]:
            return {"sentences": 0}
        for _ in side_by_side(self._write_shard, self.kept.shards(item["corpus"], self.size), self.kept.ahead):
            pass
        return {"sentences": item["corpus"]["ids"][1] - item["corpus"]["ids"][0]}

    def _write_shard(self, own: tuple[int, pa.Table]) -> None:
        part, shard = own
        n_tokens, cut = shard["n_tokens"].to_numpy(), shard["cut"].to_numpy()
        counts = [
            np.bincount(shard["source"].to_numpy(), weights, len(self.kept.datasets)).astype(int).tolist()
            for weights in (n_tokens, cut > 0, cut)
        ]
        tokens_file(part).commit(self.kept.store, kept_table(shard, self.highest_id), self.fingerprint)
        named, limit = shard.select(self.layout.names), group_rows("corpus")
        batches = (named.slice(at, limit) for at in range(0, shard.num_rows, limit))
        extra = {LENGTHS: json.dumps(counts).encode()}
        self._write(_part("corpus", part), shard.num_rows, batches, extra, self.layout)

    def _write(
        self, output: TablePart, rows: int, batches: Iterator[pa.Table], extra: dict[bytes, bytes], layout: pa.Schema
    ) -> None:
        extra = {**output.footer(self.fingerprint, rows), **extra}
        written = write_part(self.kept.store, output.table, output.part, layout, batches, self.fingerprint, extra)
        if written != rows:
            raise RuntimeError(f"ingest: {output.path} got {written} rows, expected {rows}")


def lengths(store: Store, shards: int, sources: int) -> Int64s:
    """Return three counts for each source from the shards' footers, `[3, sources]`.

    They are the tokens of its kept sentences, the sentences that exceed the model's limit, and their tokens beyond it.
    """

    def of_shard(shard: int) -> Int64s:
        with store.parquet(part_name("corpus", shard)) as file:
            return np.array(json.loads(file.schema_arrow.metadata[LENGTHS]), np.int64)

    return sum(side_by_side(of_shard, range(shards)), start=np.zeros((3, sources), np.int64))
