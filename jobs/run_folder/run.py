"""A run: its complete stages, their files, and the lock that lets one job at a time change it."""

import sys
from collections.abc import Container
from functools import partial
from typing import Any

import pyarrow as pa

from jobs.run_folder.again import command, made_anew
from jobs.run_folder.publish import check_tables, clear, finished_view, put_in_place, view_of, written
from jobs.run_folder.run_json import RECORD, check_out, how_far, read_record, versions
from jobs.run_folder.stages import PARTIALS, STAGES, TOKENS, stages_after, stages_read
from ops.clock import utc_now
from ops.errors import InputError
from ops.model.names import model_title
from ops.schema import SCHEMA_VERSION, TOOL
from ops.shards import Shards
from ops.storage.fingerprint import differences, fingerprint
from ops.storage.lock import LOCK, Lock, check_holder
from ops.storage.store import Store

Entry = dict[str, Any]
_MODEL = ("model", "model_seed")
_SHARED = (*_MODEL, "seed", "units")  # options that a stage is expected to share with the stages that it reads


class RunReader:
    """One run directory and its record; opening it changes nothing.

    Attributes:
        store_class: the class with which the folder is read.
        store: the folder; for finished tables it reads only the recorded files.

    Raises:
        InputError: no directory was named, or it is not the directory of a run.
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
        """Update the list of finished files from the current record."""
        self.store = self.store.seen_by(finished_view(self.record["tables"]))

    def stage(self, name: str) -> Entry | None:
        """Return a stage's entry, or None if the stage was never begun."""
        entry: Entry | None = self.record["stages"].get(name)
        return entry

    def complete(self, name: str) -> bool:
        """Tell whether all of a stage's tables exist."""
        entry = self.stage(name)
        return entry is not None and bool(entry["complete"])

    def is_current(self, name: str) -> bool:
        """Tell whether all of a stage's tables exist and hold everything that this version writes."""
        return self.complete(name) and self.require(name)["identity"].get("method", 1) == STAGES[name].method

    def read_by(self, name: str) -> list[str]:
        """Return the stages that a stage reads in this run, directly or indirectly."""
        return stages_read(name, filter(self.is_current, STAGES[name].also))

    def stages_with(self, name: str) -> list[str]:
        """Return the begun stages whose results depend on the results of a stage."""
        entries = self.record["stages"]
        return [s for s in stages_after(name) if s in entries and f"{name} stage" in entries[s]["identity"]]

    def options_of(self, name: str) -> Entry:
        """Return the options of a stage, even if its results were dropped; by default those that it shares with others.

        Stages are dropped if a stage that they read is done again.
        """
        entry, dropped = self.stage(name), self.record.get("dropped", {})
        if entry is not None or name in dropped:
            options: Entry = entry["config"] if entry is not None else dropped[name]
            return options
        read = [entry["config"] for entry in map(self.stage, STAGES[name].reads) if entry is not None]
        return {option: config[option] for config in read for option in _SHARED if option in config}

    def model(self) -> Entry:
        """Return the options that name the model of the run: those of `topk`, else of the first stage that has any."""
        entries = [entry for entry in map(self.stage, ("topk", *STAGES)) if entry is not None]
        named: Entry = next((entry["config"] for entry in entries if entry["config"].get("model")), {})
        return {option: named.get(option) for option in _MODEL if named}

    @property
    def title(self) -> str:
        """The title of the run's model for figures."""
        model = self.record["model"]
        return model_title(model["name"], model["fingerprint"], model.get("seed"))

    def is_expected(self, name: str) -> bool:
        """Tell whether a complete stage's tables do not exist yet; only a dry run continues without them."""
        return False

    def shards(self, per_group: int = 1) -> Shards:
        """Return the shards of the finished corpus, or groups of `per_group` shards."""
        corpus = self.require("ingest")
        return Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"] * per_group)

    def require(self, name: str) -> Entry:
        """Return the entry of a stage whose tables will be read.

        Raises:
            InputError: the stage is not complete.
        """
        entry = self.stage(name)
        if entry is None or not entry["complete"]:
            what = f"{name} is not complete" if entry else f"{STAGES[name].tables[0]}/ is missing"
            if name != "ingest" and not self.record["stages"]:
                raise InputError(f"--out {self.store.uri}: {what}, as there is no run here; make one with atlas run")
            how = "give --corpus, or " if name == "ingest" else ""
            progress = entry.get("progress") if entry else None
            far = f" ({how_far(progress)})" if progress else ""
            raise InputError(
                f"--out {self.store.uri}: {what}{far}; {how}run", command(self.store.uri, name, self.options_of(name))
            )
        return entry

    def require_current(self, name: str) -> Entry:
        """Return the entry of a stage, provided that its tables hold everything that this version writes.

        Raises:
            InputError: the stage is not complete, or another version of the program ran it.
        """
        entry = self.require(name)
        if not self.is_current(name):
            wrong = f"{name} was run by another version of this program, and its tables lack data that is required here"
            raise made_anew(self.store.uri, name, STAGES[name].tables[0], wrong, entry["config"])
        return entry

    def check_files(self, *names: str, footers: bool = False, only: Container[str] | None = None) -> None:
        """Check that the tables of finished stages are as they were written (see `check_tables`)."""
        check_tables(self.store, names, self.record, footers, only)


class Run(RunReader):
    """A run that a job works on; after `hold` has locked it, no other job changes it.

    The entry of a complete stage describes its results. While the stage is done again (`--redo`), the work in progress
    is described in a nested entry, `redo`, and the previous results stay until the new results are complete.
    """

    lock: Lock | None = None

    def __init__(self, out: str, create: bool = True) -> None:
        super().__init__(out, create)
        self._begun: list[str] = []

    def hold(self, work: str) -> None:
        """Lock the run for this job, and finish publishing the tables of a job that was killed.

        Unfinished files of its record and its lock, which a kill may leave on a disk, are deleted.

        Raises:
            InputError: the folder cannot be written, another job holds the run, or a job changed it since it was
                opened.
        """
        if self.lock is not None:
            return
        lock = Lock(self.store, work)
        with self.store.first_write():
            lock.take()
        self.lock = lock
        now = read_record(self.store, create=True) or {**self.record, "stages": {}, "tables": {}}
        if _outline(now) != _outline(self.record):
            raise InputError(f"--out {self.store.uri}: another job has changed this run; give the same command again")
        self.record = now
        for name in (RECORD, LOCK):
            self.store.delete_attempts(name)
        if "publishing" in now:
            self.publish()

    def release(self) -> None:
        """Release the lock, so that other jobs may change the run."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def check_files(self, *names: str, footers: bool = False, only: Container[str] | None = None) -> None:
        """Check tables as `RunReader` does, after publishing those of a job that was killed."""
        if "publishing" in self.record and self.lock is None:
            self.hold("finishing the work of a killed job")
            self.release()
        super().check_files(*names, footers=footers, only=only)

    def publish(self) -> None:
        """Put the files in place that the record lists as being published, and remove what is no longer needed."""
        publishing = self.record["publishing"]
        put_in_place(self.store, publishing, self.record["tables"])
        for stage in stages_after(publishing["stage"]):
            if self.stage(stage) is None:
                clear(self.store, stage)
        if not publishing.get("keep_partials"):
            clear(self.store, publishing["stage"])
        del self.record["publishing"]
        self.save()
        self.see_tables()

    def save(self) -> None:
        """Write the record to run.json.

        Raises:
            LostRunError: this job no longer holds the run.
        """
        if self.lock is not None:
            check_holder(self.store, self.lock.token)
        self.store.write_json(RECORD, self.record)

    def under_way(self, name: str) -> Entry:
        """Return the entry of a stage's work in progress."""
        entry: Entry = self.record["stages"][name]
        at_work: Entry = entry.get("redo", entry)
        return at_work

    def begin(self, name: str, identity: Entry, config: Entry, redo: bool) -> str | None:
        """Start or resume a stage and return its fingerprint, or None if it is complete.

        Args:
            identity: the options and inputs that its results depend on, except the fingerprints of the stages it reads.
            redo: do the stage again even if it is complete; existing results stay until the new tables are complete.

        Raises:
            InputError: the directory holds results of other options; the message names every option that differs.
        """
        self.hold(name)
        identity = {**identity, **{f"{s} stage": self.require(s)["fingerprint"] for s in self.read_by(name)}}
        if STAGES[name].method > 1:
            identity["method"] = STAGES[name].method
        digest, entry = fingerprint(identity), self.stage(name)
        redo = redo or self._can_read_more(name, identity)
        at_work = entry if entry is None or not entry["complete"] else entry.get("redo")
        goes_on = at_work is not None and at_work["fingerprint"] == digest and bool(at_work.get("redone") or not redo)
        if entry is not None and entry["complete"] and not redo and (not goes_on or entry["fingerprint"] == digest):
            self._check_same(name, entry, identity, config)
            self.check_files(name)
            return None
        if entry is not None and not goes_on and not redo:
            self._check_same(name, entry, identity, config)
        self.check_files(*STAGES[name].reads, footers=True)
        if at_work is None or not goes_on:
            at_work = self._start_anew(name, redo)
        at_work.update(fingerprint=digest, identity=identity, config=config)
        self.record["versions"] = versions()
        self.save()
        return digest

    def _can_read_more(self, name: str, identity: Entry) -> bool:
        """Tell whether a stage differs from its results only in that it can now read a stage of its `also`."""
        entry = self.stage(name)
        more = {f"{s} stage" for s in self.read_by(name)} - {f"{s} stage" for s in stages_read(name)}
        if entry is None or not more or entry["identity"] != {k: v for k, v in identity.items() if k not in more}:
            return False
        print(
            f"{name}: everything is read again, with the results of {' and '.join(STAGES[name].also)}", file=sys.stderr
        )
        return True

    def _start_anew(self, name: str, redo: bool) -> Entry:
        """Add a new entry for a stage to the record and return it; the stage's unfinished work is removed."""
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
        """Return the folder as a running stage sees it."""
        guard = partial(check_holder, token=self.lock.token) if self.lock is not None else None
        return self.store.seen_by(view_of(name, self.record["tables"], guard))

    def note(self, name: str, progress: Entry) -> None:
        """Record the progress of a running stage."""
        self.under_way(name)["progress"] = progress
        self.save()

    def done_before(self, name: str, found: str) -> None:
        """Print that a stage has nothing to do; `found` describes its existing results."""
        print(f"{name}: already done, {found}", file=sys.stderr)

    def finish(
        self, name: str, counts: Entry, seconds: float, of_the_run: Entry | None = None, keep_partials: bool = False
    ) -> None:
        """Put all of a stage's tables in place, and remove the tables that they replace or make outdated.

        Args:
            seconds: the duration of the attempt that finished the stage.
            of_the_run: top-level entries of run.json that are written too.
            keep_partials: whether the stage's partial files stay.
        """
        entry = dict(self.under_way(name))
        entry.pop("progress", None)
        entry.pop("redone", None)
        entry.update(complete=True, finished=utc_now(), seconds=round(seconds, 3), counts=counts)
        tables = self.record["tables"]
        after = self.stages_with(name)
        gone = {file["name"] for s in (name, *after) for t in STAGES[s].tables for file in tables.pop(t, [])}
        tables |= written(self.store, name, entry["fingerprint"])
        if dropped := {stage: self.record["stages"].pop(stage)["config"] for stage in after}:
            self.record["dropped"] = {**self.record.get("dropped", {}), **dropped}
        self.record["stages"][name] = entry
        self.record |= of_the_run or {}
        kept = {file["name"] for table in tables.values() for file in table}
        self.record["publishing"] = {"stage": name, "remove": sorted(gone - kept), "keep_partials": keep_partials}
        self._begun = [stage for stage in self._begun if stage != name]
        self.save()
        self.publish()

    def add_files(self, name: str, table: str, names: list[str]) -> None:
        """Record files that were added in place to a finished stage's table, such as a plot."""
        sizes, digest = self.store.walk(table), self.require(name)["fingerprint"]
        kept = [file for file in self.record["tables"].get(table, []) if file["name"] not in names]
        new = [{"name": file, "rows": None, "bytes": sizes[file], "fingerprint": digest} for file in names]
        self.record["tables"][table] = kept + new
        self.save()

    def forget(self, name: str) -> None:
        """Remove the unfinished work of a stage, as if it had not been started; its previous results stay."""
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
        """Remove the unfinished work of the stages that this job began, because their options were refused."""
        for name in list(self._begun):
            self.forget(name)


def _outline(record: Entry) -> Entry:
    return {name: (entry["fingerprint"], entry["complete"]) for name, entry in record["stages"].items()}


def damaged_table(out: str) -> InputError | None:
    """Return an error for the first finished table that is damaged or incomplete, with the command to rebuild it.

    Return None if all tables are sound. Every value is read, one row group at a time. The checks before a job begins
    cover only names, sizes and footers, so they do not detect damaged data.
    """
    try:
        run = RunReader(out, create=False)
    except (InputError, OSError, pa.ArrowException):
        return None
    for stage, facts in STAGES.items():
        # Sentences with damaged tokens are tokenized again.
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
