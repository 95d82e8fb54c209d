"""The first step of `ingest`: every piece of a source becomes partial files of sentences, rejects and hashes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from jobs._engine import Item
from ops.corpus.exact_duplicates import DOCUMENT_HASHES, TEXT_HASHES
from ops.corpus.sentences import REJECTS, SENTENCES, SentenceFilter
from ops.corpus.split_sentences import SentenceSplitter
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.sources.pieces import Piece, read_piece
from ops.storage.range_file import SortedWriter
from ops.storage.store import Store, is_whole, shard_footer

COUNTS = b"atlas.counts"
KINDS = ("sentences", "rejects", "texts", "documents")


def partial(piece: int, kind: str) -> str:
    """Return the path of one of a piece's partial files."""
    return f"_partials/ingest/piece-{piece:05d}.{kind}.parquet"


def is_read(store: Store, piece: int, fingerprint: str) -> bool:
    """Tell whether all partial files of a piece are in place."""
    return all(is_whole(store, partial(piece, kind), fingerprint, f"piece-{piece}-{kind}") for kind in KINDS)


class PieceReader:
    """Reads one piece of a source after another into partial files; memory does not grow with a piece's length."""

    def __init__(self, out: str, facts: ModelFacts, fingerprint: str, options: dict[str, Any]) -> None:
        self.store, self.fingerprint, self.options = Store(out), fingerprint, options
        self.tokenizer = Tokenizer(facts)
        self.splitter = SentenceSplitter() if options["split"] == "sentences" else None

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read one piece and commit its files, the sentences last."""
        sentence_filter = SentenceFilter(self.tokenizer, self.splitter)
        rows = read_piece(Piece(**item["piece"]), self.options["text_column"], self.options["on_error"])
        number = item["number"]
        reasons: dict[str, int] = {}
        count = {"sentences": 0, "rejects": 0, "documents": 0}

        def write_all(paths: dict[str, str]) -> None:
            with (
                pq.ParquetWriter(paths["sentences"], SENTENCES, compression="zstd") as sentences,
                pq.ParquetWriter(paths["rejects"], REJECTS, compression="zstd") as rejects,
                SortedWriter(paths["texts"], TEXT_HASHES) as texts,
                SortedWriter(paths["documents"], DOCUMENT_HASHES) as documents,
            ):
                for block in sentence_filter.blocks(rows):
                    place = np.arange(len(block.hashes)) + count["sentences"]
                    texts.add(block.hashes[:, 0], block.hashes[:, 1], place)
                    run = np.arange(len(block.documents)) + count["documents"]
                    documents.add(block.documents[:, 0], block.documents[:, 1], run, block.lengths)
                    if block.sentences.num_rows:
                        sentences.write_table(block.sentences)
                    if block.rejects.num_rows:
                        rejects.write_table(block.rejects)
                    for reason in block.rejects["reason"].to_pylist():
                        reasons[reason] = reasons.get(reason, 0) + 1
                    count["sentences"] += block.sentences.num_rows
                    count["rejects"] += block.rejects.num_rows
                    count["documents"] += len(block.documents)
                counts = {**count, "rows": sentence_filter.rows, "reasons": dict(sorted(reasons.items()))}
                texts.finish(self._footer(number, "texts", count["sentences"]))
                documents.finish(self._footer(number, "documents", count["documents"]))
                rejects.add_key_value_metadata(self._footer(number, "rejects", count["rejects"]))
                footer = self._footer(number, "sentences", count["sentences"])
                sentences.add_key_value_metadata({**footer, COUNTS: json.dumps(counts).encode()})

        names = {kind: partial(number, kind) for kind in reversed(KINDS)}
        self.store.commit_several(names, write_all)
        return {"sentences": count["sentences"] + count["rejects"]}

    def _footer(self, piece: int, kind: str, rows: int) -> dict[bytes, bytes]:
        return shard_footer(self.fingerprint, f"piece-{piece}-{kind}", rows)


@dataclass(frozen=True)
class Pieces:
    """What the pieces held, in the order of the plan.

    Attributes:
        sources: the number of each piece's source, ascending.
        rows, sentences, rejects, documents: counts of each piece; `sentences` are the usable ones.
        reasons: rejects by reason of each piece.
    """

    sources: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    sentences: npt.NDArray[np.int64]
    rejects: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int64]
    reasons: list[dict[str, int]]

    @classmethod
    def read(cls, store: Store, sources: list[int]) -> "Pieces":
        """Read the counts of every piece's footer."""
        found = []
        for piece in range(len(sources)):
            with store.parquet(partial(piece, "sentences")) as file:
                found.append(json.loads(file.metadata.metadata[COUNTS]))
        rows, sentences, rejects, documents = (
            np.array([f[name] for f in found], np.int64) for name in ("rows", "sentences", "rejects", "documents")
        )
        return cls(np.array(sources, np.int64), rows, sentences, rejects, documents, [f["reasons"] for f in found])

    def first_positions(self) -> npt.NDArray[np.int64]:
        """Return the position of each piece's first usable sentence among all pieces', and the end, `[pieces + 1]`."""
        return np.concatenate([[0], np.cumsum(self.sentences)])

    def first_runs(self) -> npt.NDArray[np.int64]:
        """Return the number of each piece's first run of a document among all pieces', and the end, `[pieces + 1]`."""
        return np.concatenate([[0], np.cumsum(self.documents)])

    def split(self, position: npt.NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
        """Return the pieces that hold these ascending positions, each with where its own stand among them."""
        cuts = np.searchsorted(position, self.first_positions())
        for piece in np.flatnonzero(np.diff(cuts)).tolist():
            yield piece, slice(cuts[piece], cuts[piece + 1])
