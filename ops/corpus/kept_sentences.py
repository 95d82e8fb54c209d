"""The distinct sentences and the rejects, as rows of corpus/ and rejects/, read back from the files of all pieces."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ops.arrays import Int64s
from ops.corpus.first_copies import FirstCopies
from ops.corpus.numbering import corpus_rows, sentences_before
from ops.corpus.piece_counts import Pieces
from ops.sampling import in_sample
from ops.schema import schema
from ops.storage.range_file import group_starts, read_each_between, read_groups, take_rows
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import Store

Run = dict[str, Any]  # of sentences that are kept, as `corpus_parts` returns it


class KeptSentences:
    """Reads the kept sentences of the pieces, some sentences or rejects at a time.

    Args:
        store: the run's folder.
        pieces: what was read.
        datasets: each source's data set.
        texts: the first copies of all texts.
        files: the paths of each piece's `sentences` and `rejects`, and of the ranges of hashes' `documents`.
        last: as in `Numbering`.
    """

    def __init__(
        self,
        store: Store,
        pieces: Pieces,
        datasets: list[str],
        texts: FirstCopies,
        files: dict[str, list[str]],
        last: tuple[int, int] | None,
    ) -> None:
        self.store, self.pieces, self.datasets = store, pieces, datasets
        self.texts, self.files, self.last = texts, files, last
        self.ahead = 1 if store.local else LARGE_FILES_AT_ONCE  # pieces, or shards, at a time
        self.keys = sorted(pieces.all_keys())

    def shards(self, run: Run, size: int) -> Iterator[tuple[int, pa.Table]]:
        """Return the number of each shard of a run of ids, and its sentences as `sentences` returns them."""
        tables = self.sentences(run)
        rest = next(tables)
        for part, rows in shards_of(run, size):
            while rest.num_rows < rows:
                rest = pa.concat_tables([rest, next(tables)])
            yield part, rest.slice(0, rows)
            rest = rest.slice(rows)

    def rejects(self, pieces: list[int]) -> Iterator[pa.Table]:
        """Return the rows of rejects/ from the first of some pieces to the one before the last."""

        def read(piece: int) -> list[pa.Table]:
            names = [self.datasets[self.pieces.sources[piece]]]
            return [
                pa.table(
                    [
                        pa.array(names * group.num_rows, pa.string()),
                        *group.select(["doc_id", "text", "reason"]).columns,
                    ],
                    names=schema("rejects").names,
                )
                for group in read_groups(self.store, self.files["rejects"][piece])
            ]

        return (table for tables in side_by_side(read, range(*pieces), self.ahead) for table in tables)

    def _chosen(self, run: Run) -> tuple[Int64s, Int64s]:
        """Return the positions of a run's sentences, ascending, and how often each occurs."""
        first, stop = run["positions"]
        whole = self.texts.between(first, stop - 1)
        position, copies = whole["position"].to_numpy(), whole["copies"].to_numpy()
        if self.last is not None:
            inside = in_sample(whole["priority"].to_numpy(), position, self.last)
            position, copies = position[inside], copies[inside]
        ids = run["ids"]
        wanted = slice(run["skip"], run["skip"] + ids[1] - ids[0])
        return position[wanted], copies[wanted]

    def sentences(self, run: Run) -> Iterator[pa.Table]:
        """Return a run's sentences with all columns of corpus/, their tokens, and the number of their source."""
        position, copies = self._chosen(run)
        firsts = self.pieces.first_positions()

        def read(piece: int, here: slice) -> list[pa.Table]:
            place, count, source = position[here] - firsts[piece], copies[here], int(self.pieces.sources[piece])
            found = []
            with self.store.parquet(self.files["sentences"][piece]) as file:
                earlier = self._earlier(file, piece, place)
                for own, table in take_rows(file, place):
                    before = sentences_before(table["run"].to_numpy() + self.pieces.first_runs()[piece], *earlier)
                    first = run["ids"][0] + here.start + own.start
                    named = corpus_rows(table, self.datasets[source], first, before, count[own], self.keys)
                    found.append(named.append_column("source", pa.array([source] * len(named), pa.int64())))
            return found

        for tables in side_by_side(lambda piece: read(*piece), self.pieces.split(position), self.ahead):
            yield from tables

    def _earlier(self, file: Any, piece: int, place: Int64s) -> tuple[Int64s, Int64s]:
        """Return the runs around these places whose documents started earlier, and how many sentences earlier."""
        # A nested column counts as several among the file's columns.
        column = [file.metadata.schema.column(i).path for i in range(len(file.metadata.schema))].index("run")
        first_run = int(self.pieces.first_runs()[piece])
        wanted = np.searchsorted(group_starts(file), place[[0, -1]], "right") - 1
        low, high = (file.metadata.row_group(group).column(column).statistics for group in wanted.tolist())
        between = (low.min + first_run, high.max + first_run)
        whole = pa.concat_tables(read_each_between(self.store, self.files["documents"], "run", *between))
        run, before = whole["run"].to_numpy(), whole["before"].to_numpy()
        order = np.argsort(run)
        return run[order], before[order]


def shards_of(run: Run, size: int) -> list[tuple[int, int]]:
    """Return the number of each shard of a run of ids, and how many sentences it has."""
    first, stop = run["ids"]
    return [(start // size, min(size, stop - start)) for start in range(first, stop, size)]
