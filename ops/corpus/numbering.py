"""The counts of the pieces of the sources and, from them, the choice of the sentences to keep and their ids."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ops.arrays import Int64s, UInt64s
from ops.corpus.exact_duplicates import FirstCopies
from ops.sampling import in_sample, sample_cutoff
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store

COUNTS = b"atlas.counts"
UNIT = 1 << 16  # number of positions in a block whose kept sentences are counted together


@dataclass(frozen=True)
class Pieces:
    """The counts of the pieces, in the order of the plan.

    Attributes:
        sources: the index of each piece's source, ascending.
        rows, sentences, rejects, documents: counts of each piece. `sentences` counts the usable sentences, and
            `documents` counts the blocks of consecutive rows of one document.
        reasons: the number of rejects of each piece by reason.
        keys: the metadata keys of each piece.
    """

    sources: Int64s
    rows: Int64s
    sentences: Int64s
    rejects: Int64s
    documents: Int64s
    reasons: list[dict[str, int]]
    keys: list[list[str]]

    @classmethod
    def read(cls, store: Store, files: list[str], sources: list[int]) -> "Pieces":
        """Read the counts of every piece from the footer of its file of sentences.

        Args:
            store: the run's folder.
            files: the path of each piece's file.
            sources: the index of each piece's source.
        """

        def counts(path: str) -> dict[str, Any]:
            with store.parquet(path) as file:
                found: dict[str, Any] = json.loads(file.metadata.metadata[COUNTS])
            return found

        found = list(side_by_side(counts, files))
        rows, sentences, rejects, documents = (
            np.array([f[name] for f in found], np.int64) for name in ("rows", "sentences", "rejects", "documents")
        )
        reasons, keys = [f["reasons"] for f in found], [f["keys"] for f in found]
        return cls(np.array(sources, np.int64), rows, sentences, rejects, documents, reasons, keys)

    def all_keys(self) -> list[str]:
        """Return the metadata keys of all pieces, sorted."""
        return sorted(set().union(*self.keys))

    def first_positions(self) -> Int64s:
        """Return the position of each piece's first usable sentence over all pieces, and the end, `[pieces + 1]`."""
        return np.concatenate([[0], np.cumsum(self.sentences)])

    def first_runs(self) -> Int64s:
        """Return the index of each piece's first document block over all pieces, and the end, `[pieces + 1]`."""
        return np.concatenate([[0], np.cumsum(self.documents)])

    def split(self, position: Int64s) -> Iterator[tuple[int, slice]]:
        """Yield the pieces that contain these ascending positions, each with its slice of the positions."""
        cuts = np.searchsorted(position, self.first_positions())
        for piece in np.flatnonzero(np.diff(cuts)).tolist():
            yield piece, slice(cuts[piece], cuts[piece + 1])


@dataclass(frozen=True)
class Numbering:
    """The sentences that are kept, and how many of them precede each position.

    Attributes:
        last: the priority and position of the sample's last sentence; None if all distinct sentences are kept.
        distinct, kept: number of distinct and of kept sentences of each source.
        near: number of texts of each source that were dropped as near-duplicates.
        before: number of kept sentences before each block of `UNIT` positions, and their total, `[units + 1]`.
    """

    last: tuple[int, int] | None
    distinct: Int64s
    kept: Int64s
    near: Int64s
    before: Int64s


def number(pieces: Pieces, texts: FirstCopies, sources: int, limit: int | None) -> Numbering:
    """Count the distinct and the kept sentences by source and by position, holding only these counts in memory.

    Args:
        pieces: the pieces that were read.
        texts: the distinct sentences.
        sources: number of sources.
        limit: maximum number of sentences to keep, drawn as a seeded uniform sample; None keeps all.
    """

    def blocks() -> Iterator[tuple[UInt64s, Int64s]]:
        for group in texts.groups("priority"):
            yield group["priority"].to_numpy(), group["position"].to_numpy()

    last = sample_cutoff(blocks, limit) if limit is not None and limit < texts.total() else None
    firsts = pieces.first_positions()
    starts = firsts[np.searchsorted(pieces.sources, np.arange(sources))]

    def by_source(position: Int64s) -> Int64s:
        return np.bincount(np.searchsorted(starts, position, "right") - 1, minlength=sources)

    units = -(-int(firsts[-1]) // UNIT)
    distinct, kept, near = (np.zeros(sources, np.int64) for _ in range(3))
    each = np.zeros(units, np.int64)
    for group in texts.groups() if last is None else texts.groups("priority"):
        position = group["position"].to_numpy()
        distinct += by_source(position)
        if last is not None:
            position = position[in_sample(group["priority"].to_numpy(), position, last)]
        kept += by_source(position)
        each += np.bincount(position // UNIT, minlength=units)
    for position in texts.dropped():
        near += by_source(position)
    return Numbering(last, distinct, kept, near, np.concatenate([[0], np.cumsum(each)]))


def corpus_parts(numbering: Numbering, size: int, together: int) -> Iterator[dict[str, Any]]:
    """Yield blocks of consecutive shards with at least `together` sentences each; the last block may have fewer.

    Each block has the `ids` of its sentences (first, stop), the range of `positions` that contains them, and the number
    of sentences to `skip` at the start of this range.
    """
    total = int(numbering.before[-1])
    step = -(-together // size) * size
    for first in range(0, total, step):
        stop = min(first + step, total)
        start = int(np.searchsorted(numbering.before, first, "right")) - 1
        end = int(np.searchsorted(numbering.before, stop, "left"))
        yield {
            "ids": [first, stop],
            "positions": [start * UNIT, end * UNIT],
            "skip": first - int(numbering.before[start]),
        }


def reject_parts(pieces: Pieces, together: int) -> Iterator[dict[str, Any]]:
    """Yield blocks of consecutive pieces with about `together` rejects each: `part`, `pieces` (first, stop), `rows`."""
    block = (np.cumsum(pieces.rejects) - pieces.rejects) // together
    cuts = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(block)]
    for part, (first, stop) in enumerate(pairwise(cuts)):
        yield {"part": part, "pieces": [first, stop], "rows": int(pieces.rejects[first:stop].sum())}
