"""A run: which of its stages are complete, which files are theirs, and the one job that may change it."""

import re
import sys
from collections.abc import Container
from functools import partial
from typing import Any

import pyarrow as pa

from jobs.stage.again import command, made_anew
from jobs.stage.files import added, check_tables, clear, finished_view, put_in_place, view_of, written
from jobs.stage.record import RECORD, check_out, how_far, read_record, versions
from jobs.stage.stages import PARTIALS, STAGES, TOKENS, stages_after, stages_read
from ops.clock import utc_now
from ops.errors import InputError
from ops.schema import SCHEMA_VERSION, TOOL
from ops.shards import Shards
from ops.storage.fingerprint import differences, fingerprint
from ops.storage.lock import Lock, check_holder
from ops.storage.store import Store

# What a job leaves that is killed while it writes its record or its sign of life.
_UNFINISHED = re.compile(r"\.(run|_lock)\.json\.[0-9a-f]{12}")
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

    @property
    def has_corpus(self) -> bool:
        """Whether corpus/ exists and can be read; only a dry run continues without it."""
        return True

    def is_expected(self, name: str) -> bool:
        """Tell whether a complete stage's tables do not exist yet; only a dry run continues without them."""
        return False

    def shards(self, per_group: int = 1) -> Shards:
        """Return the shards of the finished corpus, or groups of so many of them.

        Raises:
            InputError: there is no corpus.
        """
        corpus = self.require("ingest")
        return Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"] * per_group)

    def require(self, name: str) -> Entry:
        """Return the entry of a stage whose tables are to be read.

        Raises:
            InputError: it is not complete.
        """
        entry = self.stage(name)
        if entry is None or not entry["complete"]:
            what = f"{name} is not complete" if entry else f"{STAGES[name].tables[0]}/ is missing"
            how = "give --corpus, or " if name == "ingest" else ""
            corpus = self.stage("ingest")
            of_corpus = {name: corpus["config"].get(name) for name in ("model", "model_seed")} if corpus else {}
            options = entry["config"] if entry else of_corpus
            progress = entry.get("progress") if entry else None
            far = f" ({how_far(progress)})" if progress else ""
            raise InputError(f"--out {self.store.uri}: {what}{far}; {how}run", command(self.store.uri, name, options))
        return entry

    def require_current(self, name: str) -> Entry:
        """Return the entry of a stage whose tables are to be read, with all that this version writes into them.

        Raises:
            InputError: it is not complete, or another version did it.
        """
        entry = self.require(name)
        if entry["identity"].get("method", 1) != STAGES[name].method:
            wrong = f"{name} was run by another version of this program, and its tables lack data that is required here"
            raise made_anew(self.store.uri, name, STAGES[name].tables[0], wrong, entry["config"])
        return entry


class Run(RunReader):
    """A run that a job works on; once `hold` has taken it nobody else changes it.

    A stage's entry is that of its results once they are complete; while it is done again (`--redo`) what is under way
    has an entry of its own in it, `redo`, and the previous results stay until the new ones are complete.
    """

    lock: Lock | None = None

    def __init__(self, out: str, create: bool = True) -> None:
        super().__init__(out, create)
        self._begun: list[str] = []

    def hold(self, work: str) -> None:
        """Take the run for this job, and finish what a job that was killed was putting in place.

        Raises:
            InputError: nothing can be written there, another job holds it, or one changed it since it was opened.
        """
        if self.lock is not None:
            return
        self.store.check_writable()
        lock = Lock(self.store, work)
        lock.take()
        self.lock = lock
        for name in filter(_UNFINISHED.fullmatch, self.store.entries()):
            self.store.delete(name)
        now = read_record(self.store, create=True) or {**self.record, "stages": {}, "tables": {}}
        if _outline(now) != _outline(self.record):
            raise InputError(f"--out {self.store.uri}: another job has changed this run; give the same command again")
        self.record = now
        if "publishing" in now:
            self.publish()

    def release(self) -> None:
        """Let other jobs have the run."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def check_files(self, *names: str, footers: bool = False, only: Container[str] | None = None) -> None:
        """Look whether the tables of finished stages are there as they were written (see `check_tables`)."""
        if "publishing" in self.record and self.lock is None:
            self.hold("finishing the work of a killed job")
            self.release()
        check_tables(self.store, names, self.record, footers, only)

    def publish(self) -> None:
        """Put in place what the record says that is to be, and remove what it replaces."""
        publishing = self.record["publishing"]
        put_in_place(self.store, publishing, self.record["tables"])
        for stage in stages_after(publishing["stage"]):
            if self.stage(stage) is None:
                clear(self.store, stage)
        del self.record["publishing"]
        self.save()
        self.see_tables()

    def save(self) -> None:
        """Write the record."""
        self.store.write_json(RECORD, self.record)

    def under_way(self, name: str) -> Entry:
        """Return the entry of what is under way of a stage."""
        entry: Entry = self.record["stages"][name]
        at_work: Entry = entry.get("redo", entry)
        return at_work

    def begin(self, name: str, identity: Entry, config: Entry, redo: bool) -> str | None:
        """Start or resume a stage and return its fingerprint, None if it is complete.

        Args:
            name: the stage.
            identity: all that its results depend on, by option or input, the fingerprints of the stages it reads aside.
            config: the resolved options, for the record.
            redo: do it again even if it is complete; existing results stay until the new tables are complete.

        Raises:
            InputError: the directory holds results of other options; every one that differs is named.
        """
        self.hold(name)
        identity = {**identity, **{f"{s} stage": self.require(s)["fingerprint"] for s in stages_read(name)}}
        if STAGES[name].method > 1:
            identity["method"] = STAGES[name].method
        own, entry = fingerprint(identity), self.stage(name)
        at_work = entry if entry is None or not entry["complete"] else entry.get("redo")
        goes_on = at_work is not None and at_work["fingerprint"] == own and bool(at_work.get("redone") or not redo)
        if entry is not None and entry["complete"] and not redo and (not goes_on or entry["fingerprint"] == own):
            self._check_same(name, entry, identity, config)
            self.check_files(name)
            return None
        if entry is not None and not goes_on and not redo:
            self._check_same(name, entry, identity, config)
        self.check_files(*STAGES[name].reads, footers=True)
        if at_work is None or not goes_on:
            at_work = self._start_anew(name, redo)
        at_work.update(fingerprint=own, identity=identity, config=config)
        self.record["versions"] = versions()
        self.save()
        return own

    def _start_anew(self, name: str, redo: bool) -> Entry:
        """Return a new entry for a stage, at its place in the record; what was under way of it is gone."""
        clear(self.store, name)
        self._begun.append(name)
        entry = self.stage(name)
        new: Entry = {"complete": False, "started": utc_now(), "seconds": 0.0, **({"redone": True} if redo else {})}
        if entry is not None and entry["complete"]:
            entry["redo"] = new
        else:
            self.record["stages"][name] = new
        return new

    def _check_same(self, name: str, entry: Entry, identity: Entry, config: Entry) -> None:
        again = "replace these results" if entry["complete"] else "begin it again"
        if entry["identity"].get("method", 1) != identity.get("method", 1):
            readable = "its tables can still be read; " if entry["complete"] else ""
            raise InputError(
                f"--out {self.store.uri}: {name} was run by another version of this program, which measured "
                f"differently; {readable}name another --out, or --redo to {again}"
            )
        if changes := differences(entry["identity"], identity, entry["config"], config):
            how = "run with" if entry["complete"] else "begun with"
            resume = "" if entry["complete"] else "give those to resume it, "
            raise InputError(
                f"--out {self.store.uri}: {name} was {how} other options: {changes}; "
                f"{resume}name another --out, or --redo to {again}"
            )

    def store_of(self, name: str) -> Store:
        """Return the folder as a stage sees it that is under way."""
        guard = partial(check_holder, token=self.lock.token) if self.lock is not None else None
        return self.store.seen_by(view_of(name, self.record["tables"], guard))

    def note(self, name: str, progress: Entry) -> None:
        """Record how far a stage under way is."""
        self.under_way(name)["progress"] = progress
        self.save()

    def done_before(self, name: str, found: str) -> None:
        """Say that a stage has nothing to do; `found` is what it did before."""
        print(f"{name}: already done, {found}", file=sys.stderr)

    def finish(self, name: str, counts: Entry, seconds: float, of_the_run: Entry | None = None) -> None:
        """Put all of a stage's tables in place, and remove those that they replace or that followed from these.

        Args:
            name: the stage.
            counts, seconds: what it did, and how long that took.
            of_the_run: what else the record says, in separate entries.
        """
        entry = dict(self.under_way(name))
        entry.pop("progress", None)
        entry.pop("redone", None)
        entry.update(complete=True, finished=utc_now(), seconds=round(entry["seconds"] + seconds, 3), counts=counts)
        tables = self.record["tables"]
        gone = {
            file["name"] for s in (name, *stages_after(name)) for t in STAGES[s].tables for file in tables.pop(t, [])
        }
        tables |= written(self.store, name, entry["fingerprint"])
        for after in stages_after(name):
            self.record["stages"].pop(after, None)
        self.record["stages"][name] = entry
        self.record |= of_the_run or {}
        kept = {file["name"] for table in tables.values() for file in table}
        self.record["publishing"] = {"stage": name, "remove": sorted(gone - kept)}
        self._begun = [stage for stage in self._begun if stage != name]
        self.save()
        self.publish()

    def add_files(self, name: str, table: str, names: list[str]) -> None:
        """Record files that were added to a finished stage's table, such as a figure, and are in place."""
        own = self.record["tables"].setdefault(table, [])
        new = added(self.store, table, names, self.require(name)["fingerprint"])
        own[:] = [file for file in own if file["name"] not in names] + new
        self.save()

    def forget(self, name: str) -> None:
        """Drop what is under way of a stage, as if it had not been started; its previous results stay."""
        entry = self.stage(name)
        if entry is None:
            return
        clear(self.store, name)
        if entry["complete"]:
            entry.pop("redo", None)
        else:
            del self.record["stages"][name]
        self._begun = [stage for stage in self._begun if stage != name]
        if self.is_new and not self.record["stages"]:
            self.store.delete(RECORD)
            if not self.store.walk(PARTIALS):
                self.store.delete(PARTIALS)
        else:
            self.save()

    def forget_begun(self) -> None:
        """Drop the stages that this job began and did not finish: their options were refused."""
        for name in list(self._begun):
            self.forget(name)


def _outline(record: Entry) -> Entry:
    return {name: (entry["fingerprint"], entry["complete"]) for name, entry in record["stages"].items()}


def damaged_table(out: str) -> InputError | None:
    """Return an error for the first finished table that is damaged or incomplete, with the command to rebuild it.

    None if all are sound. Every value is read, a row group at a time; a job looks at names, sizes and footers before
    it begins, which shows no damage between them.
    """
    try:
        run = RunReader(out, create=False)
    except (InputError, OSError, pa.ArrowException):
        return None
    for stage, facts in STAGES.items():
        # What is damaged of the tokens is tokenized again.
        for table in (table for table in facts.tables if table != TOKENS):
            for file in run.record["tables"].get(table, []):
                if file["rows"] is not None and (wrong := _wrong(run.store, file["name"])):
                    options = run.record["stages"][stage]["config"]
                    return made_anew(out, stage, table, f"{file['name']} is {wrong}", options)
    return None


def _wrong(store: Store, name: str) -> str:
    """Read every value of a Parquet file and return what is wrong with it, or an empty string."""
    try:
        with store.parquet(name) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group)
    except FileNotFoundError:
        return "missing"
    except (OSError, ValueError, pa.ArrowException):
        return "damaged"
    return ""
