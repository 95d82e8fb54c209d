"""The files below a run's folder: their names, how they are written and read, and how tables are published."""

import json
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.stage.again import made_anew
from jobs.stage.stages import STAGES, TOKENS
from ops.errors import visible
from ops.schema import schema
from ops.storage.side_by_side import SMALL_FILES_AT_ONCE, side_by_side
from ops.storage.store import FINGERPRINT, Store, View, is_whole, shard_footer
from ops.storage.tables import part_name, write_part

SHOWN = 3  # number of names in a message

Tables = dict[str, list[dict[str, Any]]]

NOTES = b"atlas.notes"  # what a partial file records in addition to its table, as JSON
# A model's files, as transformers names them.
_MODEL = r"config\.json|model[\w.-]*\.(safetensors|json)|classifier\.(safetensors|json)"
_TOKENIZER = (
    r"\w*token\w*(\.\w+)?\.(json|model)|(vocab|merges|spiece|sentencepiece\.bpe|unigram|bpe)\.(json|txt|model|codes)"
)
# The files in the folders of tables: parts, the codes that mining reads, plots, pages, a model.
_PUBLISHED = re.compile(
    rf"(part|shard)-\d+\.parquet|vocabulary(-places)?\.parquet|[\w-]+\.(png|svg|pdf|html|css|js)|{_MODEL}|{_TOKENIZER}"
)
# Partial files: files with an index, raw bytes, and files that are not finished.
_PARTIAL = re.compile(r"[a-z_]+(-[a-z_]+)*-\d+(-of-\d+)?([-.][a-z_]+)?\.(parquet|tar)|[a-z_]+\.bin|\..+\.[0-9a-f]{12}")


def is_published(name: str) -> bool:
    """Tell whether a file name, without its folder, is a name that a stage gives to a file of a table."""
    return _PUBLISHED.fullmatch(name) is not None


def is_ours(store: Store, path: str) -> bool:
    """Tell whether a stage wrote a file in its folder of partial files, by the file's name or its footer."""
    name = path.rpartition("/")[2]
    if is_published(name) or _PARTIAL.fullmatch(name):
        return True
    if not name.endswith(".parquet"):
        return False
    try:
        with store.parquet(path) as file:
            return FINGERPRINT in (file.metadata.metadata or {})
    except (OSError, pa.ArrowException):
        return False


@dataclass(frozen=True)
class Output:
    """A file that a worker commits for an item.

    Attributes:
        path: the path of the file below the run's folder.
        name: the description of its contents in its footer, so that no file is mistaken for another.
    """

    path: str
    name: str

    def footer(self, fingerprint: str, rows: int) -> dict[bytes, bytes]:
        """Return the footer entries by which `is_whole` recognizes the file."""
        return shard_footer(fingerprint, self.name, rows)

    def is_whole(self, store: Store, fingerprint: str) -> bool:
        """Tell whether the file exists, is complete, and belongs to this stage."""
        return is_whole(store, self.path, fingerprint, self.name)


@dataclass(frozen=True)
class TablePart(Output):
    """A part of a published table.

    Attributes:
        table: the name of the table.
        part: the index of the part, from 0.
    """

    table: str
    part: int

    def write(self, store: Store, groups: Iterable[pa.Table], fingerprint: str, layout: pa.Schema | None = None) -> int:
        """Commit the part, one row group per table, and return its number of rows; `layout` replaces the schema."""
        tables = list(groups)
        rows = sum(table.num_rows for table in tables)
        columns = schema(self.table) if layout is None else layout
        return write_part(store, self.table, self.part, columns, tables, fingerprint, self.footer(fingerprint, rows))


def table_part(table: str, part: int, name: str) -> TablePart:
    """Return a part of a published table; `name` describes its contents."""
    return TablePart(part_name(table, part), name, table, part)


def partial_file(stage: str, name: str, number: int | None = None, digits: int = 5) -> Output:
    """Return a partial file of a stage, named after its contents, such as `vocabulary`, or `range` and its index."""
    stem = name if number is None else f"{name}-{number:0{digits}d}"
    return Output(f"{STAGES[stage].partials}/{stem}.parquet", name if number is None else f"{name}-{number}")


def shard_file(stage: str, shard: int) -> Output:
    """Return the partial file of a shard, or of a group of shards."""
    return partial_file(stage, "shard", shard)


def _write_compressed(table: pa.Table, path: str) -> None:
    pq.write_table(table, path, compression="zstd")


def write_partial(
    store: Store,
    output: Output,
    table: pa.Table,
    fingerprint: str,
    notes: Any = None,
    write: Callable[[pa.Table, str], None] = _write_compressed,
    extra: dict[bytes, bytes] | None = None,
) -> None:
    """Commit a partial file.

    Args:
        store: the run's folder, as the stage sees it.
        output: the file.
        table: the table to write.
        fingerprint: the fingerprint of the stage.
        notes: further JSON-able data to record in the file; `read_notes` returns it.
        write: writes a table, its footer included, to a local path.
        extra: further footer entries.
    """

    def described(path: str, footer: dict[bytes, bytes]) -> None:
        write(table.replace_schema_metadata(footer), path)

    commit_partial(store, output, table.num_rows, fingerprint, described, notes, extra)


def commit_partial(
    store: Store,
    output: Output,
    rows: int,
    fingerprint: str,
    write: Callable[[str, dict[bytes, bytes]], None],
    notes: Any = None,
    extra: dict[bytes, bytes] | None = None,
) -> None:
    """Commit a partial file of `rows` rows; `write` writes it to a local path with the footer that it is given.

    The other arguments are the arguments of `write_partial`.
    """
    footer = {**output.footer(fingerprint, rows), **(extra or {})}
    if notes is not None:
        footer[NOTES] = json.dumps(notes).encode()
    store.commit(output.path, lambda path: write(path, footer))


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

    def of_file(output: Output) -> Any:
        with store.parquet(output.path) as file:
            return json.loads((file.schema_arrow.metadata or {})[NOTES])

    return list(side_by_side(of_file, outputs))


def under(stage: str) -> str:
    """Return the folder that holds a stage's tables until all of them are complete."""
    return f"{STAGES[stage].partials}/tables"


def view_of(stage: str, tables: Tables, guard: Any = None) -> View:
    """Return what a running stage sees of the run: its own unfinished tables, and other tables' recorded files."""
    own = STAGES[stage].tables
    return View(own, under(stage), guard, _names({table: tables[table] for table in tables.keys() - set(own)}))


def finished_view(tables: Tables) -> View:
    """Return the view of readers on the run: the recorded files of each table."""
    return View(files=_names(tables))


def _names(tables: Tables) -> dict[str, tuple[str, ...]]:
    return {table: tuple(file["name"] for file in found) for table, found in tables.items()}


def written(store: Store, stage: str, fingerprint: str) -> Tables:
    """Return the files in `under(stage)` for each table of a stage, as run.json records them.

    Raises:
        RuntimeError: a file was written with other options.
    """
    folder = under(stage)
    found = {n: size for n, size in store.walk(folder).items() if "/." not in n and is_published(n.rpartition("/")[2])}
    with ThreadPoolExecutor(SMALL_FILES_AT_ONCE) as threads:
        entries = list(threads.map(lambda name: _entry(store, name, folder, found[name], fingerprint), found))
    tables: Tables = {}
    for table in STAGES[stage].tables:
        own = [e for e in entries if e["name"].rpartition("/")[0] == table]
        if own:
            tables[table] = own
    return tables


def _entry(store: Store, name: str, folder: str, size: int, fingerprint: str) -> dict[str, Any]:
    rows = None
    if name.endswith(".parquet"):
        own, rows = _footer(store, name, fingerprint)
        if own != fingerprint:
            raise RuntimeError(f"{name} was written by another job, with other options")
    return {"name": name.removeprefix(f"{folder}/"), "rows": rows, "bytes": size, "fingerprint": fingerprint}


def _footer(store: Store, name: str, default: str) -> tuple[str, int]:
    """Return a Parquet file's fingerprint (`default` if it records none) and its number of rows."""
    with store.parquet_of_any_table(name) as file:
        return (file.metadata.metadata or {}).get(FINGERPRINT, default.encode()).decode(), file.metadata.num_rows


def added(store: Store, table: str, names: list[str], fingerprint: str) -> list[dict[str, Any]]:
    """Return the entries of run.json for files of a table that were written in place and are not Parquet files."""
    found = store.walk(table)
    return [{"name": name, "rows": None, "bytes": found[name], "fingerprint": fingerprint} for name in names]


def check_tables(
    store: Store, stages: Iterable[str], record: Mapping[str, Any], footers: bool, only: Container[str] | None = None
) -> None:
    """Check that the tables of finished stages are as the stages wrote them.

    Foreign files are named in notes on standard error. Stored tokens may be missing: then a note says that sentences
    are tokenized again. If a table is wrong, only the error is raised.

    Args:
        store: the run's folder.
        stages: the names of the stages.
        record: the contents of run.json.
        footers: whether to read the footers of the files too, in addition to names and sizes.
        only: the tables to check; None for all tables of the stages.

    Raises:
        InputError: a file is missing, or is not the file that was recorded.
    """
    for note in [note for stage in stages for note in _checked(store, stage, record, footers, only)]:
        print(f"note: {note}", file=sys.stderr)


def _checked(
    store: Store, stage: str, record: Mapping[str, Any], footers: bool, only: Container[str] | None
) -> Iterator[str]:
    """Yield the notes about a stage's tables."""
    job = stage.partition("/")[0]
    for table in STAGES[stage].tables:
        if only is not None and table not in only:
            continue
        recorded = {f["name"]: f for f in record["tables"].get(table, []) if f["rows"] is not None}
        found = {name: size for name, size in store.walk(table).items() if name.rpartition("/")[0] == table}
        wrong = ""
        for name, file in recorded.items():
            if name not in found:
                wrong = f"{name} is missing"
            elif found[name] != file["bytes"]:
                wrong = f"{name} is not as {job} wrote it ({found[name]:,} bytes, not {file['bytes']:,})"
            if wrong:
                break
        # The reader of stored tokens checks each file itself.
        if footers and not wrong and table != TOKENS:
            with ThreadPoolExecutor(SMALL_FILES_AT_ONCE) as threads:
                wrong = next(filter(None, threads.map(lambda file: _other(store, file), recorded.values())), "")
        if wrong and table == TOKENS:
            yield f"{visible(wrong)}: such sentences are tokenized again"
        elif wrong:
            raise made_anew(store.uri, stage, table, wrong, record["stages"][stage]["config"])
        foreign = [n for n in found if n.endswith(".parquet") and "/." not in n and n not in recorded]
        if foreign:
            yield f"{_list(foreign)}: not part of this run and ignored here, but a reader of the folder would read them"


def _other(store: Store, file: dict[str, Any]) -> str:
    try:
        found = _footer(store, file["name"], file["fingerprint"])
    except (OSError, pa.ArrowException):
        return f"{file['name']} is damaged"
    return "" if found == (file["fingerprint"], file["rows"]) else f"{file['name']} belongs to another run"


def put_in_place(store: Store, publishing: dict[str, Any], tables: Tables) -> None:
    """Move a finished stage's files to their final places and remove the previous files; this may be repeated.

    Args:
        store: the run's folder.
        publishing: the entry of run.json with the `stage` and the files to `remove`.
        tables: the recorded files, including the files of the stage itself.
    """
    stage = publishing["stage"]
    own = store.seen_by(view_of(stage, {}, store.view.guard))
    kept = {f["name"] for found in tables.values() for f in found}
    final = (name.removeprefix(f"{under(stage)}/") for name in store.walk(under(stage)))
    for _ in side_by_side(own.place, (name for name in final if name in kept)):
        pass
    if not store.walk(under(stage)):
        store.delete(under(stage))
    remove(store, publishing["remove"], kept)


def remove(store: Store, names: Iterable[str], kept: Container[str]) -> None:
    """Remove these files of tables and the folders that become empty; print the names of foreign files in them."""
    known = {table for facts in STAGES.values() for table in facts.tables}
    own = [name for name in names if name.rpartition("/")[0] in known]
    for _ in side_by_side(store.delete, own):
        pass
    folders = {name.rpartition("/")[0] for name in own}
    foreign = []
    for folder in sorted(folders):
        left = list(store.walk(folder))
        foreign += [name for name in left if name not in kept]
        if not left:
            store.delete(folder)
    if foreign:
        _tell_left(foreign)


def clear(store: Store, stage: str) -> None:
    """Remove the partial files of a stage; foreign files are left in place and named."""
    folder = STAGES[stage].partials
    names = list(store.walk(folder))
    foreign = [name for name in names if not is_ours(store, name)]
    if not foreign:
        store.delete(folder)
        return
    for _ in side_by_side(store.delete, (name for name in names if name not in foreign)):
        pass
    _tell_left(foreign)


def _tell_left(foreign: list[str]) -> None:
    print(f"kept, because no job wrote it: {_list(foreign)}", file=sys.stderr)


def _list(names: list[str]) -> str:
    more = len(names) - SHOWN
    return visible(", ".join(names[:SHOWN])) + (f" and {more} more" if more > 0 else "")
