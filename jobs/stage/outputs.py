"""The files that an item of a step gives: their names, how they are committed, and how they are read."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.run_folder.stages import STAGES
from ops.schema import meta_keys, schema
from ops.storage.side_by_side import SMALL_FILES_AT_ONCE, side_by_side
from ops.storage.store import SHARD, Store, is_whole, shard_footer
from ops.storage.tables import part_name, write_part

NOTES = b"atlas.notes"  # what a partial file records in addition to its table, as JSON


@dataclass(frozen=True)
class Noted:
    """A table, and what its file records in addition.

    Attributes:
        notes: JSON-able data; `read_notes` returns it.
    """

    table: pa.Table
    notes: Any = None
    footer: Mapping[bytes, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """A file that is not made from one table.

    Attributes:
        write: writes it to a local path, with the footer that it is given.
        notes: JSON-able data; `read_notes` returns it.
    """

    rows: int
    write: Callable[[str, dict[bytes, bytes]], None]
    notes: Any = None


Contents: TypeAlias = "pa.Table | Iterable[pa.Table] | Noted | Written"


@dataclass(frozen=True)
class Output:
    """A file that is committed for an item.

    Attributes:
        path: the path of the file below the run's folder.
        name: the description of its contents in its footer, so that no file is mistaken for another.
        writer: writes a table, its footer included, to a local path.
    """

    path: str
    name: str
    writer: Callable[[pa.Table, str], None] = field(
        default=partial(pq.write_table, compression="zstd", write_page_checksum=True), compare=False, kw_only=True
    )

    def footer(self, fingerprint: str, rows: int) -> dict[bytes, bytes]:
        """Return the footer entries by which `is_whole` recognizes the file."""
        return shard_footer(fingerprint, self.name, rows)

    def is_whole(self, store: Store, fingerprint: str) -> bool:
        """Tell whether the file exists, is complete, and belongs to this stage."""
        return is_whole(store, self.path, fingerprint, self.name)

    def commit(self, store: Store, contents: Contents, fingerprint: str) -> int:
        """Put the file with these contents in place in one step, and return its number of rows."""
        if isinstance(contents, Written):
            noted, rows, write = Noted(pa.table({}), contents.notes), contents.rows, contents.write
        else:
            noted = contents if isinstance(contents, Noted) else Noted(pa.concat_tables(_each(contents)))
            rows, write = noted.table.num_rows, partial(self._write, noted.table)
        footer = {**self.footer(fingerprint, rows), **noted.footer}
        if noted.notes is not None:
            footer[NOTES] = json.dumps(noted.notes).encode()
        store.commit(self.path, lambda path: write(path, footer))
        return rows

    def _write(self, table: pa.Table, path: str, footer: dict[bytes, bytes]) -> None:
        self.writer(table.replace_schema_metadata(footer), path)


def _each(tables: pa.Table | Iterable[pa.Table]) -> Iterable[pa.Table]:
    return [tables] if isinstance(tables, pa.Table) else tables


@dataclass(frozen=True)
class TablePart(Output):
    """A part of a published table."""

    table: str
    part: int

    def commit(self, store: Store, contents: Contents, fingerprint: str) -> int:
        """Put the part in place; each of several tables becomes a row group, and only one of them is in memory."""
        noted = contents if isinstance(contents, Noted) else Noted(contents)
        tables = iter(_each(noted.table))
        first = list(islice(tables, 1))
        layout = schema(self.table, meta_keys(first[0].schema) if first else [])
        extra = {SHARD: self.name.encode(), **noted.footer}
        return write_part(store, self.table, self.part, layout, chain(first, tables), fingerprint, extra)


def table_part(table: str, part: int, name: str) -> TablePart:
    """Return a part of a published table; `name` describes its contents."""
    return TablePart(part_name(table, part), name, table, part)


def whole_table(table: str) -> TablePart:
    """Return the only part of a published table."""
    return table_part(table, 0, table)


def partial_file(stage: str, name: str, number: int | None = None, digits: int = 5) -> Output:
    """Return a partial file of a stage, named after its contents, such as `vocabulary`, or `range` and its index."""
    stem = name if number is None else f"{name}-{number:0{digits}d}"
    return Output(f"{STAGES[stage].partials}/{stem}.parquet", name if number is None else f"{name}-{number}")


def file_of(stage: str, name: str, key: str = "") -> Callable[[Mapping[str, Any]], list[Output]]:
    """Return `outputs` of a step whose items have one partial file each, numbered by an entry (by default `name`)."""
    return lambda item: [partial_file(stage, name, item[key or name])]


def shard_file(stage: str, shard: int) -> Output:
    """Return the partial file of a shard, or of a group of shards."""
    return partial_file(stage, "shard", shard)


def read_partial(store: Store, output: Output, columns: list[str] | None = None) -> pa.Table:
    """Return the table of a partial file; `notes_of` returns the notes of the file from this table."""
    with store.parquet(output.path) as file:
        return file.read(columns=columns)


def read_partials(
    store: Store, outputs: Iterable[Output], columns: list[str] | None = None, at_once: int = SMALL_FILES_AT_ONCE
) -> Iterator[pa.Table]:
    """Yield the tables of partial files in their order; at most `at_once` tables are in memory."""
    return side_by_side(lambda output: read_partial(store, output, columns), outputs, at_once)


def notes_of(table: pa.Table) -> Any:
    """Return the notes that are recorded in the partial file from which a table was read."""
    return json.loads((table.schema.metadata or {})[NOTES])


def with_notes(tables: Iterable[pa.Table], notes: list[Any]) -> Iterator[pa.Table]:
    """Yield the tables of partial files in their order, and append the notes of each file to `notes`."""
    for table in tables:
        notes.append(notes_of(table))
        yield table


def read_notes(store: Store, outputs: Iterable[Output]) -> list[Any]:
    """Return the notes that partial files record in addition to their tables, in the order of the files."""
    return [notes_of(table) for table in read_partials(store, outputs, [])]
