"""The last step of `ingest`: the distinct sentences, numbered, become corpus/, and the others rejects/."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jobs._distinct import FirstCopies, distinct_file
from jobs._engine import Item
from jobs._pieces import Pieces, partial
from ops.sampling import in_sample, sample_cutoff
from ops.schema import group_rows, schema
from ops.storage.range_file import group_starts, read_between, read_groups, take_rows
from ops.storage.store import Store, is_whole, shard_footer
from ops.storage.tables import part_name, write_part

Numbers = npt.NDArray[np.int64]
UNIT = 1 << 16  # positions
TOGETHER = 200_000  # sentences that one item writes, at the least
TRUNCATED = b"atlas.truncated"


@dataclass(frozen=True)
class Numbering:
    """Which sentences are kept, and how many lie before each place.

    Attributes:
        last: priority and position of the sample's last sentence; None where all distinct ones are kept.
        distinct, kept: sentences of each source.
        near: texts of each source that were dropped as near-duplicates.
        before: kept sentences before each run of `unit` positions, and their total, `[units + 1]`.
        unit: positions of such a run.
    """

    last: tuple[int, int] | None
    distinct: Numbers
    kept: Numbers
    near: Numbers
    before: Numbers
    unit: int


def number(pieces: Pieces, texts: FirstCopies, sources: int, limit: int | None, unit: int = UNIT) -> Numbering:
    """Count the distinct and the kept sentences by source and by place; nothing is held but these counts.

    Args:
        texts: the distinct sentences.
        sources: number of sources.
        limit: at most so many distinct sentences, a seeded uniform sample.
    """

    def blocks() -> Iterator[tuple[npt.NDArray[np.uint64], Numbers]]:
        for group in texts.groups("priority"):
            yield group["priority"].to_numpy(), group["position"].to_numpy()

    last = sample_cutoff(blocks, limit) if limit is not None and limit < texts.total() else None
    firsts = pieces.first_positions()
    starts = firsts[np.searchsorted(pieces.sources, np.arange(sources))]

    def by_source(position: Numbers) -> Numbers:
        return np.bincount(np.searchsorted(starts, position, "right") - 1, minlength=sources)

    units = -(-int(firsts[-1]) // unit)
    distinct, kept, near = (np.zeros(sources, np.int64) for _ in range(3))
    each = np.zeros(units, np.int64)
    for group in texts.groups() if last is None else texts.groups("priority"):
        position = group["position"].to_numpy()
        distinct += by_source(position)
        if last is not None:
            position = position[in_sample(group["priority"].to_numpy(), position, last)]
        kept += by_source(position)
        each += np.bincount(position // unit, minlength=units)
    for position in texts.dropped():
        near += by_source(position)
    return Numbering(last, distinct, kept, near, np.concatenate([[0], np.cumsum(each)]), unit)


def table_items(pieces: Pieces, numbering: Numbering, size: int, together: int = TOGETHER) -> list[Item]:
    """Return what is to be written as items: some shards of corpus/ each, and a part of rejects/."""
    pairs = zip_longest(_corpus_parts(numbering, size, together), _reject_parts(pieces, together))
    return [{"corpus": corpus, "rejects": rejects} for corpus, rejects in pairs]


def _corpus_parts(numbering: Numbering, size: int, together: int) -> Iterator[Item]:
    """Return runs of shards of at least `together` sentences: the ids, their positions, how many to skip."""
    total = int(numbering.before[-1])
    step = -(-together // size) * size
    for first in range(0, total, step):
        stop = min(first + step, total)
        start = int(np.searchsorted(numbering.before, first, "right")) - 1
        end = int(np.searchsorted(numbering.before, stop, "left"))
        yield {
            "ids": [first, stop],
            "positions": [start * numbering.unit, end * numbering.unit],
            "skip": first - int(numbering.before[start]),
        }


def _reject_parts(pieces: Pieces, together: int) -> Iterator[Item]:
    """Return runs of pieces with about `together` rejects each."""
    place = (np.cumsum(pieces.rejects) - pieces.rejects) // together
    cuts = [0, *(np.flatnonzero(np.diff(place)) + 1).tolist(), len(place)]
    for part, (first, stop) in enumerate(pairwise(cuts)):
        yield {"part": part, "pieces": [first, stop], "rows": int(pieces.rejects[first:stop].sum())}


def is_written(store: Store, item: Item, size: int, fingerprint: str) -> bool:
    """Tell whether all files of an item are in place."""
    parts = [("corpus", part) for part, _ in _shards(item["corpus"], size)] if item["corpus"] else []
    parts += [("rejects", item["rejects"]["part"])] if item["rejects"] else []
    return all(is_whole(store, part_name(t, p), fingerprint, f"{t}-{p}") for t, p in parts)


def _shards(corpus: Item, size: int) -> list[tuple[int, int]]:
    first, stop = corpus["ids"]
    return [(start // size, min(size, stop - start)) for start in range(first, stop, size)]


class Assembler:
    """Writes shards of corpus/ and parts of rejects/ from the pieces' partial files.

    Args:
        out: the run's folder.
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
        out: str,
        pieces: Pieces,
        names: list[str],
        ranges: list[Item],
        last: tuple[int, int] | None,
        size: int,
        near: bool,
        fingerprint: str,
    ) -> None:
        self.store, self.pieces, self.datasets = Store(out), pieces, names
        self.texts = FirstCopies(self.store, ranges, near)
        self.documents = [distinct_file(item, "documents") for item in ranges]
        self.last, self.size, self.fingerprint = last, size, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Write one item's files."""
        if item["rejects"]:
            found = item["rejects"]
            self._write("rejects", found["part"], found["rows"], self._rejects(found["pieces"]), {})
        if item["corpus"]:
            self._write_shards(item["corpus"])
        return {"sentences": item["corpus"]["ids"][1] - item["corpus"]["ids"][0] if item["corpus"] else 0}

    def _write_shards(self, corpus: Item) -> None:
        tables = self._sentences(corpus)
        rest = next(tables)
        limit = group_rows("corpus")
        for part, rows in _shards(corpus, self.size):
            while rest.num_rows < rows:
                rest = pa.concat_tables([rest, next(tables)])
            shard, rest = rest.slice(0, rows), rest.slice(rows)
            sources = shard["source"].to_numpy()[shard["cut"].to_numpy()]
            cut = np.bincount(sources, minlength=len(self.datasets)).tolist()
            named = shard.select(schema("corpus").names)
            batches = (named.slice(at, limit) for at in range(0, rows, limit))
            self._write("corpus", part, rows, batches, {TRUNCATED: json.dumps(cut).encode()})

    def _write(self, table: str, part: int, rows: int, batches: Iterator[pa.Table], extra: dict[bytes, bytes]) -> None:
        extra = {**shard_footer(self.fingerprint, f"{table}-{part}", rows), **extra}
        written = write_part(self.store, table, part, schema(table), batches, self.fingerprint, extra)
        if written != rows:
            raise RuntimeError(f"ingest: {part_name(table, part)} got {written} rows, expected {rows}")

    def _rejects(self, pieces: list[int]) -> Iterator[pa.Table]:
        for piece in range(*pieces):
            dataset = self.datasets[self.pieces.sources[piece]]
            for group in read_groups(self.store, partial(piece, "rejects")):
                names = pa.array([dataset] * group.num_rows, pa.string())
                yield pa.table([names, group["doc_id"], group["text"], group["reason"]], names=schema("rejects").names)

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
        firsts, sent_id = self.pieces.first_positions(), corpus["ids"][0]
        for piece, here in self.pieces.split(position):
            place, count = position[here] - firsts[piece], copies[here]
            with self.store.parquet(partial(piece, "sentences")) as file:
                earlier = self._earlier(file, piece, place)
                for own, table in take_rows(file, place):
                    yield self._columns(table, earlier, piece, sent_id, count[own])
                    sent_id += table.num_rows

    def _earlier(self, file: Any, piece: int, place: Numbers) -> tuple[Numbers, Numbers]:
        """Return, of the runs around these places, those whose documents began earlier, and how many sentences ago."""
        # Among the file's columns a nested one counts as several.
        column = [file.metadata.schema.column(i).path for i in range(len(file.metadata.schema))].index("run")
        first_run = int(self.pieces.first_runs()[piece])
        wanted = np.searchsorted(group_starts(file), place[[0, -1]], "right") - 1
        low, high = (file.metadata.row_group(group).column(column).statistics for group in wanted.tolist())
        between = (low.min + first_run, high.max + first_run)
        whole = pa.concat_tables(read_between(self.store, name, "run", *between) for name in self.documents)
        run, before = whole["run"].to_numpy(), whole["before"].to_numpy()
        order = np.argsort(run)
        return run[order], before[order]

    def _columns(
        self, table: pa.Table, earlier: tuple[Numbers, Numbers], piece: int, sent_id: int, copies: Numbers
    ) -> pa.Table:
        rows, source = table.num_rows, int(self.pieces.sources[piece])
        before = np.zeros(rows, np.int64)
        if len(earlier[0]):
            run = table["run"].to_numpy() + self.pieces.first_runs()[piece]
            at = np.minimum(np.searchsorted(earlier[0], run), len(earlier[0]) - 1)
            before = np.where(earlier[0][at] == run, earlier[1][at], 0)
        columns = {
            "sent_id": pa.array(np.arange(sent_id, sent_id + rows)),
            "text": table["text"],
            "dataset": pa.array([self.datasets[source]] * rows, pa.string()),
            "doc_id": table["doc_id"],
            "meta": table["meta"],
            "sent_in_doc": pc.add(table["place"], pa.array(before, pa.int32())),
            "n_tokens": table["n_tokens"],
            "n_copies": pa.array(copies, pa.int32()),
        }
        whole = pa.table(columns).cast(schema("corpus"))
        return whole.append_column("cut", table["cut"]).append_column("source", pa.array([source] * rows, pa.int64()))


def truncated(store: Store, shards: int, sources: int) -> Numbers:
    """Count the kept sentences of each source that are longer than the model's limit, from the shards' footers."""
    found = np.zeros(sources, np.int64)
    for shard in range(shards):
        with store.parquet(part_name("corpus", shard)) as file:
            found += np.array(json.loads(file.schema_arrow.metadata[TRUNCATED]), np.int64)
    return found
