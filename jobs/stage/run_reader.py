"""A run as its readers see it: which stages are complete, and which files are theirs."""

from typing import Any

from jobs.stage.open_record import check_out, read_record
from jobs.stage.run_files import finished_view
from jobs.stage.stages import STAGES
from jobs.stage.under_way import how_far
from jobs.stage.versions import TOOL
from ops.errors import InputError
from ops.schema import SCHEMA_VERSION
from ops.storage.store import Store

Entry = dict[str, Any]


class RunReader:
    """One run directory and its record; making one touches nothing.

    Attributes:
        store_class: how the folder is looked at.
        store: the folder; of finished tables it reads the recorded files alone.
        record: what run.json holds.

    Raises:
        InputError: no directory was named, or it is not a run's.
    """

    store_class: type[Store] = Store

    def __init__(self, out: str, create: bool = True) -> None:
        check_out(out)
        self.store = self.store_class(out)
        found = read_record(self.store, create)
        self.is_new = found is None
        self.record: Entry = found or {"tool": TOOL, "schema_version": SCHEMA_VERSION, "stages": {}, "tables": {}}
        self.see_tables()

    def see_tables(self) -> None:
        """Take the files of finished tables from the record, as it is now."""
        self.store = self.store.seen_by(finished_view(self.record["tables"]))

    def stage(self, name: str) -> Entry | None:
        """Return a stage's entry, or None where it was never begun."""
        entry: Entry | None = self.record["stages"].get(name)
        return entry

    def complete(self, name: str) -> bool:
        """Tell whether all of a stage's tables are there."""
        entry = self.stage(name)
        return entry is not None and bool(entry["complete"])

    def require(self, name: str) -> Entry:
        """Return the entry of a stage whose tables are to be read.

        Raises:
            InputError: it is not complete.
        """
        entry = self.stage(name)
        if entry is None or not entry["complete"]:
            what = f"{name} is not complete" if entry else f"{STAGES[name].tables[0]}/ is missing"
            how = "give --corpus, or " if name == "ingest" else ""
            job = name.partition("/")[0]
            progress = entry.get("progress") if entry else None
            far = f" ({how_far(progress)})" if progress else ""
            raise InputError(
                f"--out {self.store.uri}: {what}{far}; {how}run python -m jobs.{job} --out {self.store.uri} first"
            )
        return entry
