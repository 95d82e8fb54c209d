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

from jobs._distinct import KINDS, distinct_file
from jobs._engine import Item
from jobs._pieces import Pieces, partial
from ops.key_file import groups, read_between
from ops.priority import last_chosen, up_to
from ops.schema import group_rows, schema
from ops.storage import Store, is_whole, shard_footer
from ops.tables import part_name, write_part

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
        before: kept sentences before each run of `unit` positions, and their total, `[units + 1]`.
        unit: positions of such a run.
    """

    last: tuple[int, int] | None
    distinct: Numbers
    kept: Numbers
    before: Numbers
    unit: int


def number(
    store: Store, pieces: Pieces, ranges: list[Item], sources: int, limit: int | None, unit: int = UNIT
) -> Numbering:
    """Count the distinct and the kept sentences by source and by place; nothing is held but these counts.

    Args:
        ranges: the items of the second step.
        sources: number of sources.
        limit: at most so many distinct sentences, a seeded uniform sample.
    """
    names = [distinct_file(item, "texts") for item in ranges]

    def blocks() -> Iterator[tuple[npt.NDArray[np.uint64], Numbers]]:
        for name in names:
            for group in groups(store, name, ["priority", "position"]):
                yield group["priority"].to_numpy(), group["position"].to_numpy()

    total = 0
    for name in names:
        with store.parquet(name) as file:
            total += file.metadata.num_rows
    last = last_chosen(blocks, limit) if limit is not None and limit < total else None
    firsts = pieces.first_positions()
    starts = firsts[np.searchsorted(pieces.sources, np.arange(sources))]
    units = -(-int(firsts[-1]) // unit)
    distinct, kept = np.zeros(sources, np.int64), np.zeros(sources, np.int64)
    each = np.zeros(units, np.int64)
    for name in names:
        for group in groups(store, name, ["position"] if last is None else ["position", "priority"]):
            position = group["position"].to_numpy()
            distinct += np.bincount(np.searchsorted(starts, position, "right") - 1, minlength=sources)
            if last is not None:
                position = position[up_to(group["priority"].to_numpy(), position, last)]
            kept += np.bincount(np.searchsorted(starts, position, "right") - 1, minlength=sources)
            each += np.bincount(position // unit, minlength=units)
    return Numbering(last, distinct, kept, np.concatenate([[0], np.cumsum(each)]), unit)


def table_items(pieces: Pieces, numbering: Numbering, size: int, together: int = TOGETHER) -> list[Item]:
    """Give what is to be written as items: some shards of corpus/ each, and a part of rejects/."""
    pairs = zip_longest(_corpus_parts(numbering, size, together), _reject_parts(pieces, together))
    return [{"corpus": corpus, "rejects": rejects} for corpus, rejects in pairs]


def _corpus_parts(numbering: Numbering, size: int, together: int) -> Iterator[Item]:
    """Give runs of shards of at least `together` sentences: the ids, the positions that hold them, how many to skip."""
    total = int(numbering.before[-1])
    step = -(-together // size) * size
    for first in range(0, total, step):
        behind = min(first + step, total)
        start = int(np.searchsorted(numbering.before, first, "right")) - 1
        end = int(np.searchsorted(numbering.before, behind, "left"))
        yield {
            "ids": [first, behind],
            "positions": [start * numbering.unit, end * numbering.unit],
            "skip": first - int(numbering.before[start]),
        }


def _reject_parts(pieces: Pieces, together: int) -> Iterator[Item]:
    """Give runs of pieces with about `together` rejects each."""
    place = (np.cumsum(pieces.rejects) - pieces.rejects) // together
    cuts = [0, *(np.flatnonzero(np.diff(place)) + 1).tolist(), len(place)]
    for part, (first, behind) in enumerate(pairwise(cuts)):
        yield {"part": part, "pieces": [first, behind], "rows": int(pieces.rejects[first:behind].sum())}


def is_written(store: Store, item: Item, size: int, fingerprint: str) -> bool:
    """Tell whether all files of an item are in place."""
    parts = [("corpus", part) for part, _ in _shards(item["corpus"], size)] if item["corpus"] else []
    parts += [("rejects", item["rejects"]["part"])] if item["rejects"] else []
    return all(is_whole(store, part_name(t, p), fingerprint, f"{t}-{p}") for t, p in parts)


def _shards(corpus: Item, size: int) -> list[tuple[int, int]]:
    first, behind = corpus["ids"]
    return [(start // size, min(size, behind - start)) for start in range(first, behind, size)]


class Assembler:
    """Writes shards of corpus/ and parts of rejects/ from the pieces' partial files.

    Args:
        out: the run's folder.
        pieces: what was read.
        names: each source's dataset.
        ranges: the items of the second step.
        last: as in `Numbering`.
        size: sentences of a shard.
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
        fingerprint: str,
    ) -> None:
        self.store, self.pieces, self.datasets = Store(out), pieces, names
        self.texts, self.documents = ([distinct_file(r, kind) for r in ranges] for kind in KINDS)
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
            for group in groups(self.store, partial(piece, "rejects")):
                names = pa.array([dataset] * group.num_rows, pa.string())
                yield pa.table([names, group["doc_id"], group["text"], group["reason"]], names=schema("rejects").names)

    def _chosen(self, corpus: Item) -> tuple[Numbers, Numbers]:
        """Give the positions of an item's sentences, rising, and how often each occurs."""
        first, behind = corpus["positions"]
        whole = pa.concat_tables(read_between(self.store, name, "position", first, behind - 1) for name in self.texts)
        position, copies = whole["position"].to_numpy(), whole["copies"].to_numpy()
        if self.last is not None:
            inside = up_to(whole["priority"].to_numpy(), position, self.last)
            position, copies = position[inside], copies[inside]
        ids = corpus["ids"]
        order = np.argsort(position)[corpus["skip"] : corpus["skip"] + ids[1] - ids[0]]
        return position[order], copies[order]

    def _sentences(self, corpus: Item) -> Iterator[pa.Table]:
        """Give an item's sentences with all columns of corpus/, and besides `cut` and the number of their source."""
        position, copies = self._chosen(corpus)
        firsts, sent_id = self.pieces.first_positions(), corpus["ids"][0]
        owner = np.searchsorted(firsts, position, "right") - 1
        for piece in np.unique(owner).tolist():
            here = owner == piece
            place, count = position[here] - firsts[piece], copies[here]
            with self.store.parquet(partial(piece, "sentences")) as file:
                sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
                starts = np.concatenate([[0], np.cumsum(sizes)])
                cuts = np.searchsorted(place, starts)
                wanted = np.flatnonzero(np.diff(cuts)).tolist()
                earlier = self._earlier(file, piece, wanted)
                for group in wanted:
                    own = slice(cuts[group], cuts[group + 1])
                    table = file.read_row_group(group).take(pa.array(place[own] - starts[group]))
                    yield self._columns(table, earlier, piece, sent_id, count[own])
                    sent_id += table.num_rows

    def _earlier(self, file: Any, piece: int, wanted: list[int]) -> tuple[Numbers, Numbers]:
        """Give, of the runs in these row groups, those whose documents began earlier, and how many sentences ago."""
        # Among the file's columns a nested one counts as several.
        column = [file.metadata.schema.column(i).path for i in range(len(file.metadata.schema))].index("run")
        first_run = int(self.pieces.first_runs()[piece])
        low = file.metadata.row_group(wanted[0]).column(column).statistics.min + first_run
        high = file.metadata.row_group(wanted[-1]).column(column).statistics.max + first_run
        whole = pa.concat_tables(read_between(self.store, name, "run", low, high) for name in self.documents)
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
