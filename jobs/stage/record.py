"""`run.json`: what was run with which options, on which inputs, how far each stage has come, and each table's files."""

import sys
from functools import partial

from jobs.stage.held_run import HeldRun
from jobs.stage.open_record import RECORD
from jobs.stage.run_files import added, clear, view_of, written
from jobs.stage.run_reader import Entry
from jobs.stage.stages import PARTIALS, STAGES, stages_after, stages_read
from jobs.stage.versions import versions
from ops.clock import utc_now
from ops.errors import InputError
from ops.storage.fingerprint import differences, fingerprint
from ops.storage.lock import check_holder
from ops.storage.store import Store


class Run(HeldRun):
    """A run that a job works on.

    A stage's entry is that of its results once they are complete; while it is done again (`--redo`) what is under way
    has an entry of its own in it, `redo`, and the results of before stay until the new ones are whole.
    """

    def __init__(self, out: str, create: bool = True) -> None:
        super().__init__(out, create)
        self._begun: list[str] = []

    def under_way(self, name: str) -> Entry:
        """Return the entry of what is under way of a stage."""
        entry: Entry = self.record["stages"][name]
        at_work: Entry = entry.get("redo", entry)
        return at_work

    def begin(self, name: str, identity: Entry, config: Entry, redo: bool) -> str | None:
        """Start or go on with a stage and return its fingerprint, None where it is complete.

        Args:
            name: the stage.
            identity: all that its results depend on, by option or input, the fingerprints of the stages it reads aside.
            config: the resolved options, for the record.
            redo: do it anew, whatever is there of it; what is there stays until the new tables are complete.

        Raises:
            InputError: the directory holds results of other options; every one that differs is named.
        """
        self.hold(name)
        identity = {**identity, **{f"{s} stage": self.require(s)["fingerprint"] for s in stages_read(name)}}
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
        if changes := differences(entry["identity"], identity, entry["config"], config):
            raise InputError(
                f"--out {self.store.uri}: {name} was run with other options: {changes}; "
                f"name another --out, or --redo to replace these results"
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
        print(f"{name}: done before, {found}", file=sys.stderr)

    def finish(self, name: str, counts: Entry, seconds: float, of_the_run: Entry | None = None) -> None:
        """Put all of a stage's tables in place, and remove those that they replace or that followed from these.

        Args:
            name: the stage.
            counts, seconds: what it did, and how long that took.
            of_the_run: what the record says besides, in entries of its own.
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
        """Record files that a finished stage's table gained, a figure say, and that lie in place."""
        own = self.record["tables"].setdefault(table, [])
        new = added(self.store, table, names, self.require(name)["fingerprint"])
        own[:] = [file for file in own if file["name"] not in names] + new
        self.save()

    def forget(self, name: str) -> None:
        """Drop what is under way of a stage, as if it had not been begun; its results of before stay."""
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
