"""Publishing: the tables of a finished stage are checked, put in place and recorded; unfinished work is cleared."""

import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from jobs.run_folder.again import made_anew
from jobs.run_folder.stages import STAGES, TOKENS
from ops.errors import some_of, visible
from ops.storage.side_by_side import side_by_side
from ops.storage.store import FINGERPRINT, Store, View

SHOWN = 3  # number of names in a message

Tables = dict[str, list[dict[str, Any]]]


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
    found = {name: size for name, size in store.walk(folder).items() if "/." not in name}
    entries = list(side_by_side(lambda name: _entry(store, name, folder, found[name], fingerprint), found))
    tables = {t: [e for e in entries if e["name"].rpartition("/")[0] == t] for t in STAGES[stage].tables}
    return {table: own for table, own in tables.items() if own}


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


def check_tables(
    store: Store, stages: Iterable[str], record: Mapping[str, Any], footers: bool, only: Container[str] | None = None
) -> None:
    """Check that the tables of finished stages are as the stages wrote them.

    Foreign files are named in notes on standard error. Stored tokens may be missing: then a note says that sentences
    are tokenized again. If a table is wrong, only the error is raised.

    Args:
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
    job = stage.partition("/")[0]
    for table in STAGES[stage].tables:
        if only is not None and table not in only:
            continue
        recorded = {f["name"]: f for f in record["tables"].get(table, []) if f["rows"] is not None}
        files = {name: size for name, size in store.walk(table).items() if name.rpartition("/")[0] == table}
        wrong = ""
        for name, file in recorded.items():
            if name not in files:
                wrong = f"{name} is missing"
            elif files[name] != file["bytes"]:
                wrong = f"{name} is not as {job} wrote it ({files[name]:,} bytes, not {file['bytes']:,})"
            if wrong:
                break
        # The reader of stored tokens checks each file itself.
        if footers and not wrong and table != TOKENS:
            wrong = next(filter(None, side_by_side(partial(_other, store), recorded.values())), "")
        if wrong and table == TOKENS:
            yield f"{visible(wrong)}: such sentences are tokenized again"
        elif wrong:
            raise made_anew(store.uri, stage, table, wrong, record["stages"][stage]["config"])
        foreign = [n for n in files if n.endswith(".parquet") and "/." not in n and n not in recorded]
        if foreign:
            names = visible(some_of(foreign, SHOWN))
            yield f"{names}: not part of this run and ignored here, but a reader of the folder would read them"


def _other(store: Store, file: dict[str, Any]) -> str:
    try:
        found = _footer(store, file["name"], file["fingerprint"])
    except (OSError, pa.ArrowException):
        return f"{file['name']} is damaged"
    return "" if found == (file["fingerprint"], file["rows"]) else f"{file['name']} belongs to another run"


def put_in_place(store: Store, publishing: dict[str, Any], tables: Tables) -> None:
    """Move a finished stage's files to their final places and remove the previous files; this may be repeated."""
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
        print(f"kept, because no job wrote it: {visible(some_of(foreign, SHOWN))}", file=sys.stderr)


def clear(store: Store, stage: str) -> None:
    """Remove the partial files of a stage."""
    store.delete(STAGES[stage].partials)
