"""The files of a run: those that its stages wrote are recorded, checked, put in place and removed, and no others."""

import sys
from collections.abc import Container, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from jobs.stage.file_names import is_ours
from jobs.stage.stages import STAGES, made_anew
from ops.errors import InputError, visible
from ops.storage.side_by_side import SMALL_FILES_AT_ONCE, side_by_side
from ops.storage.store import FINGERPRINT, Store, View

SHOWN = 3  # names in a message

Tables = dict[str, list[dict[str, Any]]]


def under(stage: str) -> str:
    """Return the folder in which a stage's tables lie until all of them are whole."""
    return f"{STAGES[stage].partials}/tables"


def view_of(stage: str, tables: Tables, guard: Any = None) -> View:
    """Return what a stage under way sees of the run: its own tables to be, and of the others the recorded files."""
    own = STAGES[stage].tables
    return View(own, under(stage), guard, _names({table: tables[table] for table in tables.keys() - set(own)}))


def finished_view(tables: Tables) -> View:
    """Return the run as its readers see it: of each table the recorded files."""
    return View(files=_names(tables))


def _names(tables: Tables) -> dict[str, tuple[str, ...]]:
    return {table: tuple(file["name"] for file in found) for table, found in tables.items()}


def written(store: Store, stage: str, fingerprint: str) -> Tables:
    """Return of each table of a stage the files that lie in `under(stage)`, as run.json records them.

    Raises:
        RuntimeError: one of them is of other options.
    """
    folder = under(stage)
    found = {n: size for n, size in store.walk(folder).items() if "/." not in n and is_ours(n.rpartition("/")[2])}
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
            raise RuntimeError(f"{name} is of other options than this stage's; it was written by another job")
    return {"name": name.removeprefix(f"{folder}/"), "rows": rows, "bytes": size, "fingerprint": fingerprint}


def _footer(store: Store, name: str, default: str) -> tuple[str, int]:
    """Return a Parquet file's fingerprint, `default` where it carries none, and its rows."""
    with store.parquet(name) as file:
        return (file.metadata.metadata or {}).get(FINGERPRINT, default.encode()).decode(), file.metadata.num_rows


def added(store: Store, table: str, names: list[str], fingerprint: str) -> list[dict[str, Any]]:
    """Return as run.json records them the files of a table that were written in place, and are no Parquet."""
    found = store.walk(table)
    return [{"name": name, "rows": None, "bytes": found[name], "fingerprint": fingerprint} for name in names]


def check_tables(store: Store, stage: str, tables: Tables, footers: bool, only: Container[str] | None = None) -> None:
    """Look whether a finished stage's tables are there as it wrote them; a note names files that are nobody's.

    Args:
        store: the run's folder.
        stage: the stage.
        tables: the recorded files.
        footers: look into the files too, not at names and sizes alone.
        only: look at these of the stage's tables; None: at all.

    Raises:
        InputError: one is missing or another.
    """
    job = stage.partition("/")[0]
    for table in STAGES[stage].tables:
        if only is not None and table not in only:
            continue
        recorded = {f["name"]: f for f in tables.get(table, []) if f["rows"] is not None}
        found = {name: size for name, size in store.walk(table).items() if name.rpartition("/")[0] == table}
        wrong = ""
        for name, file in recorded.items():
            if name not in found:
                wrong = f"{name} is missing"
            elif found[name] != file["bytes"]:
                wrong = f"{name} is not as {job} wrote it ({found[name]:,} bytes, not {file['bytes']:,})"
            if wrong:
                break
        if footers and not wrong:
            with ThreadPoolExecutor(SMALL_FILES_AT_ONCE) as threads:
                wrong = next(filter(None, threads.map(lambda file: _other(store, file), recorded.values())), "")
        if wrong:
            raise InputError(made_anew(store.uri, stage, table, wrong))
        _tell_foreign(name for name in found if name.endswith(".parquet") and "/." not in name and name not in recorded)


def _other(store: Store, file: dict[str, Any]) -> str:
    try:
        found = _footer(store, file["name"], file["fingerprint"])
    except (OSError, pa.ArrowException):
        return f"{file['name']} is damaged"
    return "" if found == (file["fingerprint"], file["rows"]) else f"{file['name']} is of another run"


def put_in_place(store: Store, publishing: dict[str, Any], tables: Tables) -> None:
    """Move a finished stage's files to where everyone looks for them, and remove the ones of before; may be repeated.

    Args:
        store: the run's folder.
        publishing: run.json's note of what is to be done: the `stage`, and the files to `remove`.
        tables: the recorded files, the stage's own among them.
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
    """Remove these files of tables, and the folders that are empty then; what is neither these nor kept is named."""
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
    """Remove what a stage has under way; files of others are left and named."""
    folder = STAGES[stage].partials
    names = list(store.walk(folder))
    foreign = [name for name in names if not is_ours(name.rpartition("/")[2])]
    if not foreign:
        store.delete(folder)
        return
    for _ in side_by_side(store.delete, (name for name in names if name not in foreign)):
        pass
    _tell_left(foreign)


def _tell_left(foreign: list[str]) -> None:
    print(f"left alone, as no job wrote it: {_list(foreign)}", file=sys.stderr)


def _tell_foreign(names: Iterable[str]) -> None:
    foreign = list(names)
    if foreign:
        print(
            f"note: {_list(foreign)}: not of this run, and not read; readers of the whole folder would", file=sys.stderr
        )


def _list(names: list[str]) -> str:
    more = len(names) - SHOWN
    return visible(", ".join(names[:SHOWN])) + (f" and {more} more" if more > 0 else "")
