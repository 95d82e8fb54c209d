"""One list of names for all shards, and the translation of each shard's codes to indices in this list for mining."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ops.sentences.codes import NAMES_SCHEMA, names_of

TOGETHER = 1 << 21  # number of names of several shards that are merged at once
GROUP_ROWS = 1 << 17
_COMPRESSION = "zstd"


def vocabulary(parts: Iterable[pa.Table], kinds: list[str]) -> dict[str, pa.Array]:
    """Return the sorted distinct names of each kind as `large_string`; a name's code is its index in this list.

    The memory used is about twice that of the distinct names.

    Args:
        parts: the names of each shard, as tables with `NAMES_SCHEMA`.
        kinds: the kinds of names.
    """
    found: dict[str, list[pa.Array]] = {kind: [pa.array([], pa.large_string())] for kind in kinds}
    waiting = distinct = 0
    for part in parts:
        for kind in kinds:
            found[kind].append(names_of(part, kind).cast(pa.large_string()))
        waiting += part.num_rows
        if waiting > max(TOGETHER, distinct):
            found = {kind: [_distinct(own)] for kind, own in found.items()}
            waiting, distinct = 0, sum(len(own[0]) for own in found.values())
    whole = {kind: _distinct(own) for kind, own in found.items()}
    return {kind: own.take(pc.array_sort_indices(own)) for kind, own in whole.items()}


def places(parts: Iterable[pa.Table], names: dict[str, pa.Array]) -> Iterator[pa.Table]:
    """Yield for each part a row with one list of int32 per kind: the index of each of the part's names in `names`.

    Args:
        parts: as in `vocabulary`.
        names: the result of `vocabulary`.
    """
    waiting: list[pa.Table] = []
    for part in parts:
        waiting.append(part)
        if sum(table.num_rows for table in waiting) > TOGETHER:
            yield from _places(waiting, names)
            waiting.clear()
    yield from _places(waiting, names)


def write_vocabulary(names: dict[str, pa.Array], path: str | Path, footer: dict[bytes, bytes]) -> None:
    """Write all names to a local file, sorted by kind, in row groups of names of one kind."""
    layout = NAMES_SCHEMA.with_metadata(footer)
    with pq.ParquetWriter(path, layout, compression=_COMPRESSION, write_page_checksum=True) as writer:
        for kind, own in names.items():
            for start in range(0, len(own), GROUP_ROWS):
                some = own.slice(start, GROUP_ROWS).cast(pa.string())
                writer.write_table(pa.table([pa.repeat(kind, len(some)), some], schema=NAMES_SCHEMA))


def write_places(
    parts: Iterable[pa.Table], names: dict[str, pa.Array], path: str | Path, footer: dict[bytes, bytes]
) -> None:
    """Write the rows of `places` to a local file, with one row group for each part."""
    layout = pa.schema([(kind, pa.list_(pa.int32())) for kind in names], footer)
    options = {"compression": _COMPRESSION, "use_dictionary": False, "write_page_checksum": True}
    with pq.ParquetWriter(path, layout, **options) as writer:
        for row in places(parts, names):
            writer.write_table(row.cast(layout))


def _distinct(arrays: list[pa.Array]) -> pa.Array:
    return pa.concat_arrays(arrays).unique()


def _places(parts: list[pa.Table], names: dict[str, pa.Array]) -> Iterator[pa.Table]:
    if not parts:
        return
    lists = {}
    for kind, every in names.items():
        own = [names_of(part, kind) for part in parts]
        index = pc.index_in(pa.concat_arrays(own).cast(pa.large_string()), every)
        ends = pc.cumulative_sum(pa.array([0, *map(len, own)], pa.int32()))
        lists[kind] = pa.ListArray.from_arrays(ends, index)
    rows = pa.table(lists)
    yield from (rows.slice(i, 1) for i in range(len(parts)))
