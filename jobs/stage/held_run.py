"""A run that one job holds: nobody else changes it, and what a killed job left between two states is finished."""

import re
from collections.abc import Container

from jobs.stage.open_record import RECORD, read_record
from jobs.stage.run_files import check_tables, clear, put_in_place
from jobs.stage.run_reader import Entry, RunReader
from jobs.stage.stages import stages_after
from ops.errors import InputError
from ops.storage.lock import Lock

# What a job leaves that is killed while it writes its record or its sign of life.
_UNFINISHED = re.compile(r"\.(run|_lock)\.json\.[0-9a-f]{12}")


class HeldRun(RunReader):
    """A run that a job works on, once `hold` has taken it."""

    lock: Lock | None = None

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
            raise InputError(
                f"--out {self.store.uri}: another job changed this run meanwhile; give the same command again"
            )
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
            self.hold("finishing what a job that was killed began")
            self.release()
        for name in names:
            check_tables(self.store, name, self.record["tables"], footers, only)

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


def _outline(record: Entry) -> Entry:
    return {name: (entry["fingerprint"], entry["complete"]) for name, entry in record["stages"].items()}
