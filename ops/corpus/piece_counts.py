"""The counts of the pieces of the sources, and the numbering of sentences and documents over all pieces."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ops.arrays import Int64s
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store

COUNTS = b"atlas.counts"


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
