"""`--dry-run`: each stage begins as usual and then prints what it would do; nothing is changed."""

from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jobs.options.configs import StageConfig
from jobs.run_folder.run import Run
from ops.clock import duration
from ops.errors import InputError, StorageError
from ops.storage.read_only import ReadOnlyStore

if TYPE_CHECKING:
    from ops.estimate.timed_batches import Sentences

_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class DryRun(Run):
    """A run for `--dry-run`: its stages are begun, and what they would write is noted only in memory.

    Attributes:
        sample: sentences of the planned corpus, if the corpus does not exist yet.
        reading_s: the seconds that one worker would take to read the sources.
        forward_s: the seconds of a forward pass for a sentence, by model and placement, as far as they were timed.
        assumed: a note on the number of sentences, if it cannot be found from the sources.
        timed_s: the number of seconds for which a stage times some of its work.
        plans: the seconds and bytes of each planned stage, and its steps of unknown duration.
        dropped: the stages whose tables the next planned stage would drop.
        spreads: whether a planned step is spread over workers.
    """

    store: ReadOnlyStore
    store_class = ReadOnlyStore
    timed_s = 2.0

    def __init__(self, out: str) -> None:
        super().__init__(out)
        self.sample: Sentences | None = None
        self.assumed = ""
        self.reading_s = 0.0
        self.forward_s: dict[Any, float] = {}
        self.plans: dict[str, tuple[float, int, list[str]]] = {}
        self.dropped: list[str] = []
        self.spreads = False

    def save(self) -> None:
        """Do nothing, so that the record stays as it is on disk."""

    def hold(self, work: str) -> None:
        """Check that no killed job left the run half-published; unlike a real run, take no lock.

        Raises:
            InputError: a job was killed while it put its tables in place.
        """
        if "publishing" in self.record:
            raise InputError(
                f"--out {self.store.uri}: a job was killed while it put its tables in place; "
                "give the command without --dry-run to finish that"
            )

    def check_files(self, *names: str, footers: bool = False, only: Container[str] | None = None) -> None:
        """Check that tables are as they were written, except the tables that are only planned."""
        super().check_files(*(name for name in names if not self.is_expected(name)), footers=footers, only=only)

    def begin(self, name: str, identity: dict[str, Any], config: dict[str, Any], redo: bool) -> str | None:
        """Begin a stage as usual and, if there is something to do, check that the folder can be written."""
        fingerprint = super().begin(name, identity, config, redo)
        if fingerprint is not None:
            self.store.check_writable()
        return fingerprint

    def _start_anew(self, name: str, redo: bool) -> dict[str, Any]:
        if redo:
            dropped = [*filter(self.stage, [name]), *self.stages_with(name)]
            for stage in dropped:
                self.record["stages"].pop(stage)
            self.dropped += dropped
        return super()._start_anew(name, redo)

    def done_before(self, name: str, found: str) -> None:
        """Print that a stage would have nothing to do."""
        print(f"{name}\n  already done: {found}", flush=True)

    def is_expected(self, name: str) -> bool:
        """Tell whether a stage's results do not exist yet and are only assumed, so that later stages can be planned."""
        entry = self.stage(name)
        return entry is not None and "expected" in entry

    def print_total(self) -> None:
        """Print the total time and size of all stages, and the free space."""
        if not self.plans:
            print("in all: nothing to do")
        else:
            unknown = [stage for stage, (_, _, steps) in self.plans.items() if steps]
            plus = f", plus unknown times of {', '.join(unknown)}" if unknown else ""
            seconds = sum(seconds for seconds, _, _ in self.plans.values())
            written = sum(written for _, written, _ in self.plans.values())
            print(f"in all: about {duration(seconds)}; about {size(written)} of tables{plus}")
        free = self.store.free_bytes()
        if free is not None:
            print(f"free at {self.store.uri}: {size(free)}")
        print("nothing was started, written or removed", flush=True)


@contextmanager
def open_run(config: StageConfig) -> Iterator[Run]:
    """Open a job's run; with --dry-run, open it without changing it and print the total at the end."""
    if not config.dry_run:
        run = Run(config.out)
        try:
            yield run
        except InputError as error:
            # The corrected command must not be compared with the refused options.
            if not isinstance(error, StorageError):
                run.forget_begun()
            raise
        finally:
            run.release()
        return
    planned = DryRun(config.out)
    yield planned
    planned.print_total()


def size(number: float) -> str:
    """Return a number of bytes in readable form: `3.1 GB`, `20 MB`, `700 kB`."""
    unit, name = next(((unit, name) for unit, name in _BYTES if number >= unit), _BYTES[-1])
    amount = number / unit
    return f"{amount:.1f} {name}" if 0 < amount < 9.95 else f"{amount:,.0f} {name}"
