"""The last step of `ingest`: the distinct sentences, numbered, become corpus/, and the others rejects/."""

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jobs.engine.item import Item
from jobs.ingest.deduplicate import distinct_file, open_first_copies
from jobs.ingest.read import piece_file
from jobs.stage.files import Output, table_part
from jobs.stage.runner import Step
from ops.corpus.numbering import Numbering, corpus_parts, corpus_rows, reject_parts, sentences_before
from ops.corpus.piece_counts import Pieces
from ops.sampling import in_sample
from ops.schema import group_rows, schema
from ops.storage.range_file import group_starts, read_each_between, read_groups, take_rows
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import Store
from ops.storage.tables import part_name, write_part

Numbers = npt.NDArray[np.int64]
TOGETHER = 200_000  # sentences that one item writes, at the least
TRUNCATED = b"atlas.truncated"


def corpus_tables_step(pieces: Pieces, numbering: Numbering, size: int, args: Item, together: int = TOGETHER) -> Step:
    """Return the step whose items are some shards of corpus/ each, and a part of rejects/.

    Args:
        pieces: what was read.
        numbering: which sentences are kept.
        size: sentences of a shard.
        args: as `TableWriter` takes them, but for these.
        together: sentences that one item writes, at the least.
    """
    pairs = zip_longest(corpus_parts(numbering, size, together), reject_parts(pieces, together))
    items = [{"corpus": corpus, "rejects": rejects} for corpus, rejects in pairs]
    given = {**args, "pieces": pieces, "last": numbering.last, "size": size}
    return Step("ingest: tables", items, lambda item: table_outputs(item, size), TableWriter, given, "parts")


def table_outputs(item: Item, size: int) -> list[Output]:
    """Return the parts of rejects/ and of corpus/ that an item writes."""
    rejects = [_part("rejects", item["rejects"]["part"])] if item["rejects"] else []
    return rejects + [_part("corpus", part) for part, _ in _shards(item["corpus"], size)] if item["corpus"] else rejects


def _part(table: str, part: int) -> Output:
    return table_part(table, part, f"{table}-{part}")


def _shards(corpus: Item, size: int) -> list[tuple[int, int]]:
    first, stop = corpus["ids"]
    return [(start // size, min(size, stop - start)) for start in range(first, stop, size)]


class TableWriter:
    """Writes shards of corpus/ and parts of rejects/ from the pieces' partial files.

    Args:
        store: the run's folder.
        pieces: what was read.
        names: each source's dataset.
        ranges: the items of the second step.
        last: as in `Numbering`.
        size: sentences of a shard.
        near: leave out near-duplicates.
        fingerprint: the stage's.
    """

    def __init__(
        self,
        store: Store,
        pieces: Pieces,
        names: list[str],
        ranges: list[Item],
        last: tuple[int, int] | None,
        size: int,
        near: bool,
        fingerprint: str,
    ) -> None:
        self.store, self.pieces, self.datasets = store, pieces, names
        self.texts = open_first_copies(self.store, ranges, near)
        self.documents = [distinct_file(item, "documents").path for item in ranges]
        self.last, self.size, self.fingerprint = last, size, fingerprint
        self.ahead = 1 if self.store.local else LARGE_FILES_AT_ONCE  # pieces, or shards, at a time
        self.keys = sorted(pieces.all_keys())
        self.layout = schema("corpus", self.keys)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Write one item's files."""
        if item["rejects"]:
            found = item["rejects"]
            self._write("rejects", found["part"], found["rows"], self._rejects(found["pieces"]), {})
        if item["corpus"]:
            for _ in side_by_side(self._write_shard, self._cut(item["corpus"]), self.ahead):
                pass
        return {"sentences": item["corpus"]["ids"][1] - item["corpus"]["ids"][0] if item["corpus"] else 0}

    def _cut(self, corpus: Item) -> Iterator[tuple[int, pa.Table]]:
        """Return the number of each of an item's shards, and its sentences as `_sentences` returns them."""
        tables = self._sentences(corpus)
        rest = next(tables)
        for part, rows in _shards(corpus, self.size):
            while rest.num_rows < rows:
                rest = pa.concat_tables([rest, next(tables)])
            yield part, rest.slice(0, rows)
            rest = rest.slice(rows)

    def _write_shard(self, own: tuple[int, pa.Table]) -> None:
        part, shard = own
        sources = shard["source"].to_numpy()[shard["cut"].to_numpy()]
        cut = np.bincount(sources, minlength=len(self.datasets)).tolist()
        named, limit = shard.select(self.layout.names), group_rows("corpus")
        batches = (named.slice(at, limit) for at in range(0, shard.num_rows, limit))
        self._write("corpus", part, shard.num_rows, batches, {TRUNCATED: json.dumps(cut).encode()})

    def _write(self, table: str, part: int, rows: int, batches: Iterator[pa.Table], extra: dict[bytes, bytes]) -> None:
        output = _part(table, part)
        extra = {**output.footer(self.fingerprint, rows), **extra}
        layout = self.layout if table == "corpus" else schema(table)
        written = write_part(self.store, table, part, layout, batches, self.fingerprint, extra)
        if written != rows:
            raise RuntimeError(f"ingest: {output.path} got {written} rows, expected {rows}")

    def _rejects(self, pieces: list[int]) -> Iterator[pa.Table]:
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
                for group in read_groups(self.store, piece_file(piece, "rejects").path)
            ]

        return (table for tables in side_by_side(read, range(*pieces), self.ahead) for table in tables)

    def _chosen(self, corpus: Item) -> tuple[Numbers, Numbers]:
        """Return the positions of an item's sentences, ascending, and how often each occurs."""
        first, stop = corpus["positions"]
        whole = self.texts.between(first, stop - 1)
        position, copies = whole["position"].to_numpy(), whole["copies"].to_numpy()
        if self.last is not None:
            inside = in_sample(whole["priority"].to_numpy(), position, self.last)
            position, copies = position[inside], copies[inside]
        ids = corpus["ids"]
        wanted = slice(corpus["skip"], corpus["skip"] + ids[1] - ids[0])
        return position[wanted], copies[wanted]

    def _sentences(self, corpus: Item) -> Iterator[pa.Table]:
        """Return an item's sentences with all columns of corpus/, and besides `cut` and the number of their source."""
        position, copies = self._chosen(corpus)
        firsts = self.pieces.first_positions()

        def read(piece: int, here: slice) -> list[pa.Table]:
            place, count, source = position[here] - firsts[piece], copies[here], int(self.pieces.sources[piece])
            found = []
            with self.store.parquet(piece_file(piece, "sentences").path) as file:
                earlier = self._earlier(file, piece, place)
                for own, table in take_rows(file, place):
                    before = sentences_before(table["run"].to_numpy() + self.pieces.first_runs()[piece], *earlier)
                    first = corpus["ids"][0] + here.start + own.start
                    named = corpus_rows(table, self.datasets[source], first, before, count[own], self.keys)
                    found.append(named.append_column("source", pa.array([source] * len(named), pa.int64())))
            return found

        for tables in side_by_side(lambda piece: read(*piece), self.pieces.split(position), self.ahead):
            yield from tables

    def _earlier(self, file: Any, piece: int, place: Numbers) -> tuple[Numbers, Numbers]:
        """Return, of the runs around these places, those whose documents began earlier, and how many sentences ago."""
        # Among the file's columns a nested one counts as several.
        column = [file.metadata.schema.column(i).path for i in range(len(file.metadata.schema))].index("run")
        first_run = int(self.pieces.first_runs()[piece])
        wanted = np.searchsorted(group_starts(file), place[[0, -1]], "right") - 1
        low, high = (file.metadata.row_group(group).column(column).statistics for group in wanted.tolist())
        between = (low.min + first_run, high.max + first_run)
        whole = pa.concat_tables(read_each_between(self.store, self.documents, "run", *between))
        run, before = whole["run"].to_numpy(), whole["before"].to_numpy()
        order = np.argsort(run)
        return run[order], before[order]


def truncated(store: Store, shards: int, sources: int) -> Numbers:
    """Count the kept sentences of each source that are longer than the model's limit, from the shards' footers."""

    def of_shard(shard: int) -> Numbers:
        with store.parquet(part_name("corpus", shard)) as file:
            return np.array(json.loads(file.schema_arrow.metadata[TRUNCATED]), np.int64)

    return sum(side_by_side(of_shard, range(shards)), start=np.zeros(sources, np.int64))
