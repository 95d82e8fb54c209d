"""A small run with files of made-up bytes, and its exports."""

from pathlib import Path
from typing import Any

from ops.export.folder import Contents, check_earlier, check_folder, contents, write_export, written_contents
from ops.storage.store import Store

CORPUS, TOPK = "corpus/part-00000.parquet", "topk/part-00000.parquet"


class SmallRun:
    """A run whose tables are files of made-up bytes, each table's fingerprint its own name unless it is given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self.write("corpus", b"a corpus")
        self.write("topk", b"the top")

    @property
    def store(self) -> Store:
        return Store(str(self.folder))

    def write(self, table: str, *parts: bytes, fingerprint: str = "") -> None:
        """Make a table, in the place of the one of that name."""
        self.tables[table] = []
        for number, data in enumerate(parts):
            name = f"{table}/part-{number:05d}.parquet"
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(data)
            entry = {"name": name, "rows": 1, "bytes": len(data), "fingerprint": fingerprint or table}
            self.tables[table].append(entry)

    def contents(self, card: str = "a card") -> Contents:
        found = {
            "tool": "neuron-atlas",
            "model": {"fingerprint": "m"},
            "stages": {"topk": {"fingerprint": "t"}},
            "tables": {name: {"bytes": sum(f["bytes"] for f in files)} for name, files in self.tables.items()},
        }
        return contents(found, {"tables": self.tables}, self.store, card, "1.0")

    def files(self) -> dict[str, bytes]:
        """The files of its tables, as an export is to have them."""
        return {f["name"]: (self.folder / f["name"]).read_bytes() for held in self.tables.values() for f in held}


def export(run: SmallRun, to: Path | str, card: str = "a card") -> bool:
    """Export a run as the job does; tell whether an edited card was kept."""
    return _export(run, to, run.contents(card))


def _export(run: SmallRun, to: Path | str, wanted: Contents) -> bool:
    folder = check_folder(str(to), run.store)
    check_earlier(folder, f"--to {to}", wanted)
    return write_export(folder, f"--to {to}", wanted, lambda size: None)


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def export_texts(
    run: SmallRun, to: Path | str, texts: dict[str, str], form: str = "delphi", topk: str = "t", **options: object
) -> None:
    """Export a run as the job does in a format whose files are written: each file holds a text."""
    found = {"tool": "neuron-atlas", "model": {"fingerprint": "m"}, "stages": {"topk": {"fingerprint": topk}}}
    writers = {name: lambda path, text=text: Path(path).write_text(text) for name, text in texts.items()}
    _export(run, to, written_contents(form, found, writers, options, "a card", "1.0"))
