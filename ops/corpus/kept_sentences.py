"""The kept sentences and the rejects as rows of corpus/ and rejects/, read from the files of all pieces."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s, places_among
from ops.corpus.corpus_tokens import TOKEN_COLUMNS
from ops.corpus.exact_duplicates import FirstCopies
from ops.corpus.meta import meta_structs
from ops.corpus.numbering import Pieces
from ops.sampling import in_sample
from ops.schema import schema
from ops.storage.range_file import group_starts, read_each_between, read_groups, take_rows
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import Store

Run = dict[str, Any]  # a block of kept sentences, as `corpus_parts` yields it


@dataclass(frozen=True)
class KeptSentences:
    """Reads the kept sentences or the rejects of the pieces, some at a time.

    Attributes:
        store: the run's folder.
        pieces: the pieces that were read.
        datasets: the name of each source's dataset.
        texts: the first copies of all texts.
        files: the paths of the files `sentences` and `rejects` of each piece, and `documents` of each range of hashes.
        last: the last sentence of the sample, as in `Numbering`.
    """

    store: Store
    pieces: Pieces
    datasets: list[str]
    texts: FirstCopies
    files: dict[str, list[str]]
    last: tuple[int, int] | None

    @property
    def ahead(self) -> int:
        """The number of pieces, or of shards, that are read at a time."""
        return 1 if self.store.local else LARGE_FILES_AT_ONCE

    def shards(self, run: Run, size: int) -> Iterator[tuple[int, pa.Table]]:
        """Yield the index of each shard of a block of ids, and its sentences as `sentences` returns them."""
        tables = self.sentences(run)
        rest = next(tables)
        for part, rows in shards_of(run, size):
            while rest.num_rows < rows:
                rest = pa.concat_tables([rest, next(tables)])
            yield part, rest.slice(0, rows)
            rest = rest.slice(rows)

    def rejects(self, pieces: list[int]) -> Iterator[pa.Table]:
        """Yield the rows of rejects/ of the pieces `pieces[0]` to `pieces[1] - 1`."""

        def read(piece: int) -> list[pa.Table]:
            dataset = pa.scalar(self.datasets[self.pieces.sources[piece]], pa.string())
            groups = read_groups(self.store, self.files["rejects"][piece])
            return [group.add_column(0, "dataset", pa.repeat(dataset, group.num_rows)) for group in groups]

        return (table for tables in side_by_side(read, range(*pieces), self.ahead) for table in tables)

    def _chosen(self, run: Run) -> tuple[Int64s, Int64s]:
        """Return the ascending positions of a block's sentences, and how often each sentence occurs."""
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
        """Yield a block's sentences with all columns of corpus/, their tokens, and the index of their source."""
        position, copies = self._chosen(run)
        firsts, keys = self.pieces.first_positions(), self.pieces.all_keys()

        def read(piece: int, here: slice) -> list[pa.Table]:
            rows, count, source = position[here] - firsts[piece], copies[here], int(self.pieces.sources[piece])
            parts = []
            with self.store.parquet(self.files["sentences"][piece]) as file:
                earlier = self._earlier(file, piece, rows)
                for span, table in take_rows(file, rows):
                    before = _sentences_before(table["run"].to_numpy() + self.pieces.first_runs()[piece], *earlier)
                    first = run["ids"][0] + here.start + span.start
                    named = _corpus_rows(table, self.datasets[source], first, before, count[span], keys)
                    parts.append(named.append_column("source", pa.array([source] * len(named), pa.int64())))
            return parts

        for tables in side_by_side(lambda piece: read(*piece), self.pieces.split(position), self.ahead):
            yield from tables

    def _earlier(self, file: Any, piece: int, rows: Int64s) -> tuple[Int64s, Int64s]:
        """Return the document blocks around these rows that continue a document, and the sentences before each."""
        # A nested column is several of the file's physical columns, so the index of `run` must be looked up.
        column = file.schema.names.index("run")
        first_run = int(self.pieces.first_runs()[piece])
        wanted = np.searchsorted(group_starts(file), rows[[0, -1]], "right") - 1
        low, high = (file.metadata.row_group(group).column(column).statistics for group in wanted.tolist())
        between = (low.min + first_run, high.max + first_run)
        whole = pa.concat_tables(read_each_between(self.store, self.files["documents"], "run", *between))
        run, before = whole["run"].to_numpy(), whole["before"].to_numpy()
        order = np.argsort(run)
        return run[order], before[order]


def shards_of(run: Run, size: int) -> list[tuple[int, int]]:
    """Return the index of each shard of a block of ids, and the shard's number of sentences."""
    first, stop = run["ids"]
    return [(start // size, min(size, stop - start)) for start in range(first, stop, size)]


def _sentences_before(run: Int64s, known: Int64s, before: Int64s) -> Int64s:
    """Return for each of these document blocks the number of the document's sentences before it, `[runs]`.

    Args:
        run: indices of document blocks, `[runs]`.
        known: the ascending indices of the blocks that continue a document.
        before: the number of the document's sentences before each block in `known`.
    """
    index, is_known = places_among(known, run)
    earlier = np.zeros(len(run), np.int64)
    earlier[is_known] = before[index]
    return earlier


def _corpus_rows(
    table: pa.Table, dataset: str, sent_id: int, before: Int64s, copies: Int64s, keys: list[str]
) -> pa.Table:
    """Return sentences of a piece with the columns of corpus/, followed by `TOKEN_COLUMNS`.

    Args:
        table: some of the piece's sentences, in their order.
        dataset: the name of the source's dataset.
        sent_id: the id of the first sentence; the other ids follow consecutively.
        before: number of the document's sentences before each sentence's document block, `[sentences]`.
        copies: how often each sentence occurs, `[sentences]`.
        keys: the metadata keys of all sources.
    """
    columns = {
        "sent_id": pa.array(np.arange(sent_id, sent_id + table.num_rows)),
        "text": table["text"],
        "dataset": pa.repeat(dataset, table.num_rows),
        "doc_id": table["doc_id"],
        "meta": meta_structs(table["meta"], keys) if keys else None,
        "sent_in_doc": pc.add(table["place"], pa.array(before, pa.int32())),
        "n_tokens": table["n_tokens"],
        "n_copies": pa.array(copies, pa.int32()),
    }
    fields = schema("corpus", keys)
    named = pa.table({n: columns[n] for n in fields.names}).cast(fields)
    for name in TOKEN_COLUMNS.names:
        named = named.append_column(name, table[name])
    return named
