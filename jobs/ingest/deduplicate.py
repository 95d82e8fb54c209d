"""The second step of `ingest`: by ranges of hashes, find the first copy of each text and continued documents."""

from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.ingest.read import piece_file
from jobs.stage.files import Output, partial_file, write_partial
from jobs.stage.runner import Step
from ops.arrays import Arrays, Int64s
from ops.corpus.exact_duplicates import earlier_sentences, first_copies, hash_range
from ops.corpus.first_copies import FirstCopies
from ops.corpus.piece_counts import Pieces
from ops.sampling import LIMIT, priorities
from ops.storage.range_file import read_each_between, write_numbers
from ops.storage.store import Store

RANGE_FILES = ("texts", "documents")
PARTITION = 1 << 21  # hashes
NEAR_DUPLICATES = partial_file("ingest", "near")  # which of near-duplicates are kept, where that was asked for


def distinct_file(item: Item, kind: str) -> Output:
    """Return one of the files of a range of hashes: `texts` or `documents`."""
    return partial_file("ingest", f"distinct-{kind}-{item['part']:05d}-of-{item['parts']:05d}")


def first_copies_step(pieces: Pieces, seed: int | None, args: Item, partition: int = PARTITION) -> Step:
    """Return the step that finds the first copies; its items are a function of the counts alone.

    Args:
        pieces: what was read.
        seed: that of the sample to be drawn; None where all sentences are kept.
        args: the run's folder and the stage's fingerprint.
        partition: hashes of a range, about.
    """
    parts = max(-(-int(max(pieces.sentences.sum(), pieces.documents.sum())) // partition), 1)
    items = [{"part": part, "parts": parts} for part in range(parts)]
    given = {**args, "pieces": pieces, "seed": seed}
    return Step("ingest: first copies", items, range_outputs, HashRange, given, "ranges")


def range_outputs(item: Item) -> list[Output]:
    """Return the files of a range of hashes."""
    return [distinct_file(item, kind) for kind in RANGE_FILES]


def open_first_copies(store: Store, ranges: list[Item], near: bool) -> FirstCopies:
    """Open what the ranges of hashes found; with `near`, without the near-duplicates that are dropped."""
    names = [distinct_file(item, "texts").path for item in ranges]
    return FirstCopies(store, names, NEAR_DUPLICATES.path if near else None)


class HashRange:
    """Finds the first copies in one range of hashes after another.

    Commits for texts `position` (of the first copy among all usable sentences), `copies` and, where a sample is to
    be drawn, `priority`; for documents `run` and `before`, the sentences of its document's earlier runs, where there
    are any. Both are sorted by the first column.
    """

    def __init__(self, store: Store, pieces: Pieces, seed: int | None, fingerprint: str) -> None:
        self.store, self.pieces, self.seed, self.fingerprint = store, pieces, seed, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one range."""
        for kind, find in (("texts", self._texts), ("documents", self._documents)):
            output = distinct_file(item, kind)
            write_partial(self.store, output, pa.table(find(item)), self.fingerprint, write=write_numbers)
        return {}

    def _texts(self, item: Item) -> dict[str, Arrays]:
        position, high, low = self._read(item, "texts", "place", self.pieces.first_positions())
        first, copies = first_copies(high, low)
        columns: dict[str, Arrays] = {"position": position[first], "copies": copies}
        if self.seed is not None:
            columns["priority"] = priorities(low[first], self.seed, LIMIT)
        return columns

    def _documents(self, item: Item) -> dict[str, Arrays]:
        run, high, low, sentences = self._read(item, "documents", "run", self.pieces.first_runs(), "sentences")
        piece = np.searchsorted(self.pieces.first_runs(), run, "right") - 1
        before = earlier_sentences(high, low, self.pieces.sources[piece], sentences)
        return {"run": run[before > 0], "before": before[before > 0]}

    def _read(self, item: Item, kind: str, number: str, firsts: Int64s, *more: str) -> tuple[Arrays, ...]:
        """Return `number` counted over all pieces, the hashes' halves and further columns, sorted by the first."""
        between = hash_range(item["part"], item["parts"])
        columns = (number, "high", "low", *more)
        parts = []
        names = (piece_file(piece, kind).path for piece in range(len(firsts) - 1))
        for first, table in zip(firsts, read_each_between(self.store, names, "high", *between), strict=False):
            own = [table[name].to_numpy() for name in columns]
            parts.append((own[0] + first, *own[1:]))
        whole = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(whole[0])
        return tuple(column[order] for column in whole)
