"""A small run with files of made-up bytes, and its exports."""

from pathlib import Path
from typing import Any

from ops.export.folder import Export, check_earlier, check_folder, copies, write_export
from ops.storage.store import Store

CORPUS, TOPK = "corpus/part-00000.parquet", "topk/part-00000.parquet"


class SmallRun:
    """A run whose tables are files of made-up bytes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.topk = folder, "t"
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self.write("corpus", b"a corpus")
        self.write("topk", b"the top")

    @property
    def store(self) -> Store:
        return Store(str(self.folder))

    def write(self, table: str, *parts: bytes) -> None:
        """Make a table, in the place of the one of that name."""
        self.tables[table] = []
        for number, data in enumerate(parts):
            name = f"{table}/part-{number:05d}.parquet"
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(data)
            self.tables[table].append({"name": name, "bytes": len(data)})

    def export(self, card: str = "a card", form: str = "hub") -> Export:
        files = [file for table in self.tables.values() for file in table]
        provenance = {"stages": {"topk": {"fingerprint": self.topk}}}
        return Export(form, provenance, copies(self.store, files), card, sum(file["bytes"] for file in files))

    def files(self) -> dict[str, bytes]:
        """The files of its tables, as an export is to have them."""
        return {f["name"]: (self.folder / f["name"]).read_bytes() for held in self.tables.values() for f in held}


def export(run: SmallRun, to: Path | str, card: str = "a card", form: str = "hub") -> bool:
    """Export a run as the job does; tell whether an edited card was kept."""
    folder, wanted = check_folder(str(to), run.store), run.export(card, form)
    check_earlier(folder, f"--to {to}", wanted)
    return write_export(folder, f"--to {to}", wanted, lambda: None)


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
