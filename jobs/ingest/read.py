"""The first step of `ingest`, which reads pieces of sources into partial files of sentences, rejects and hashes."""

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.run_folder.stages import STAGES
from jobs.stage.outputs import Output
from jobs.stage.step import Step
from ops.corpus.exact_duplicates import DOCUMENT_HASHES, TEXT_HASHES
from ops.corpus.meta import check_keys
from ops.corpus.numbering import COUNTS, Pieces
from ops.corpus.sentences import REJECTS, SENTENCES, SentenceFilter, make_splitter
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.sources.growth import Growth
from ops.sources.pieces import read_piece
from ops.sources.source import Piece
from ops.storage.range_file import SortedWriter
from ops.storage.store import Store

# In the order in which they are committed.
PIECE_FILES = ("documents", "texts", "rejects", "sentences")


def piece_file(piece: int, kind: str) -> Output:
    """Return the file of one kind that a piece of a source is read into."""
    return Output(f"{STAGES['ingest'].partials}/piece-{piece:05d}.{kind}.parquet", f"piece-{piece}-{kind}")


def read_step(plan: list[Piece], args: Item) -> Step:
    """Return the step that reads these pieces; `args` are the arguments of `PieceReader`."""
    items = [{"number": number, "piece": asdict(piece)} for number, piece in enumerate(plan)]
    return Step(
        name="ingest", items=items, outputs=lambda item: [piece_file(item["number"], kind) for kind in PIECE_FILES],
        worker=PieceReader, args=args, unit="pieces", work=("sentences", None), estimate=lambda run: run.reading_s,
    )  # fmt: skip


def open_pieces(store: Store, sources: list[int]) -> Pieces:
    """Return the counts of the pieces; `sources` are the indices of their sources."""
    return Pieces.read(store, [piece_file(i, "sentences").path for i in range(len(sources))], sources)


class PieceReader:
    """Reads pieces of sources into partial files; memory does not grow with the length of a piece."""

    def __init__(self, store: Store, facts: ModelFacts, fingerprint: str, options: dict[str, Any]) -> None:
        self.store, self.fingerprint, self.options = store, fingerprint, options
        self.tokenizer = Tokenizer(facts)
        self.splitter = make_splitter(options["split"], self.tokenizer)

    def __call__(self, item: Item) -> Item:
        """Read one piece and commit its files; the file of the sentences is committed last."""
        sentence_filter = SentenceFilter(self.tokenizer, self.splitter)
        piece = Piece(**item["piece"])
        rows = read_piece(piece, self.options["text_column"], self.options["on_error"])
        number, growth = item["number"], Growth(piece)
        reasons: Counter[str] = Counter()
        count = Counter(sentences=0, rejects=0, documents=0)
        options = {"compression": "zstd", "write_page_checksum": True}

        def write_all(paths: dict[str, str]) -> None:
            with (
                pq.ParquetWriter(paths["sentences"], SENTENCES, **options) as sentences,
                pq.ParquetWriter(paths["rejects"], REJECTS, **options) as rejects,
                SortedWriter(paths["texts"], TEXT_HASHES) as texts,
                SortedWriter(paths["documents"], DOCUMENT_HASHES) as documents,
            ):
                for block in sentence_filter.blocks(rows):
                    check_keys(sentence_filter.keys, piece.file)
                    positions = np.arange(len(block.hashes)) + count["sentences"]
                    texts.add(*block.hashes.T, positions)
                    run = np.arange(len(block.documents)) + count["documents"]
                    documents.add(*block.documents.T, run, block.lengths)
                    if block.sentences.num_rows:
                        sentences.write_table(block.sentences)
                    if block.rejects.num_rows:
                        rejects.write_table(block.rejects)
                    reasons.update(block.rejects["reason"].to_pylist())
                    written = {"sentences": block.sentences.num_rows, "rejects": block.rejects.num_rows}
                    count.update(written, documents=len(block.documents))
                    growth.check(sentence_filter.rows, sentence_filter.characters, count["sentences"])
                seen = {"reasons": dict(sorted(reasons.items())), "keys": sorted(sentence_filter.keys)}
                counts = {**count, "rows": sentence_filter.rows, **seen}
                texts.finish(self._footer(number, "texts", count["sentences"]))
                documents.finish(self._footer(number, "documents", count["documents"]))
                rejects.add_key_value_metadata(self._footer(number, "rejects", count["rejects"]))
                footer = self._footer(number, "sentences", count["sentences"])
                sentences.add_key_value_metadata({**footer, COUNTS: json.dumps(counts).encode()})

        names = {kind: piece_file(number, kind).path for kind in PIECE_FILES}
        self.store.commit_several(names, write_all)
        return {"sentences": count["sentences"] + count["rejects"]}

    def _footer(self, piece: int, kind: str, rows: int) -> dict[bytes, bytes]:
        return piece_file(piece, kind).footer(self.fingerprint, rows)
