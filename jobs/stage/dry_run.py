"""`--dry-run`: each stage begins as usual and then prints what it would do; nothing is changed."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobs.options.configs import StageConfig
from jobs.run_folder.run import Run
from ops.clock import duration
from ops.errors import InputError, visible
from ops.storage.read_only import ReadOnlyStore

if TYPE_CHECKING:
    from ops.estimate.timed_batches import Sentences

_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a stage would do.

    Attributes:
        stage: the name of the stage.
        work: descriptions of the work, one line for each part.
        seconds: the approximate duration in seconds, without the steps whose time is unknown.
        unknown: the names of these steps.
        tables, size: the tables that it would write, and their approximate size in bytes.
    """

    stage: str
    work: Sequence[str]
    seconds: float
    unknown: Sequence[str]
    tables: Sequence[str]
    size: int


class DryRun(Run):
    """A run for `--dry-run`: its stages are begun, and what they would write is noted only in memory.

    Attributes:
        sample: sentences of the planned corpus, if the corpus does not exist yet.
        reading_s: the seconds that one worker would take to read the sources.
        forward_s: the seconds of a forward pass for a sentence, by model and placement, as far as they were timed.
        assumed: a note on the number of sentences, if it cannot be found from the sources.
        timed_s: the number of seconds for which a stage times some of its work.
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
        self._plans: list[Plan] = []
        self._dropped: list[str] = []
        self._spreads = False

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
        """Begin a stage as usual and, if there is something to do, check that the folder can be written.

        Raises:
            InputError: the folder cannot be written, or `Run.begin` raises this error.
        """
        fingerprint = super().begin(name, identity, config, redo)
        if fingerprint is not None:
            self.store.check_writable()
        return fingerprint

    def _start_anew(self, name: str, redo: bool) -> dict[str, Any]:
        if redo:
            dropped = [*filter(self.stage, [name]), *self.stages_with(name)]
            for stage in dropped:
                self.record["stages"].pop(stage)
            self._dropped += dropped
        return super()._start_anew(name, redo)

    def done_before(self, name: str, found: str) -> None:
        """Print that a stage would have nothing to do."""
        print(f"{name}\n  already done: {found}", flush=True)

    def first_spread(self) -> bool:
        """Tell whether this step would be the first one that is spread over workers, and note that it would be."""
        first, self._spreads = not self._spreads, True
        return first

    def is_expected(self, name: str) -> bool:
        """Tell whether a stage's results do not exist yet and are only assumed, so that later stages can be planned."""
        entry = self.stage(name)
        return entry is not None and "expected" in entry

    def plan(self, plan: Plan, counts: Mapping[str, Any]) -> None:
        """Print what a stage would do, and treat it as complete; `counts` are those that later stages read."""
        lines = [plan.stage]
        if self._dropped:
            lines.append(f"  drop    existing tables of {', '.join(self._dropped)}")
            self._dropped = []
        lines += [f"  {'do' if i == 0 else '':<8}{line}" for i, line in enumerate(plan.work)]
        lines.append(f"  write   {' '.join(f'{t}/' for t in plan.tables if not t.startswith('_'))}")
        plus = f", plus {', '.join(plan.unknown)}" if plan.unknown else ""
        is_known = plan.seconds or not plan.unknown
        lines.append(f"  time    {f'about {duration(plan.seconds)}{plus}' if is_known else 'not known'}")
        lines.append(f"  disk    about {size(plan.size)}")
        if self.assumed:
            lines.append(f"  by      {self.assumed}")
        print("\n".join(map(visible, lines)), flush=True)
        self._plans.append(plan)
        self.under_way(plan.stage).update(complete=True, expected=True, counts=dict(counts))

    def print_total(self) -> None:
        """Print the total time and size of all stages, and the free space."""
        if not self._plans:
            print("in all: nothing to do")
        else:
            unknown = [plan.stage for plan in self._plans if plan.unknown]
            plus = f", plus unknown times of {', '.join(unknown)}" if unknown else ""
            seconds, kept = (sum(getattr(plan, name) for plan in self._plans) for name in ("seconds", "size"))
            print(f"in all: about {duration(seconds)}; about {size(kept)} of tables{plus}")
        free = self.store.free_bytes()
        if free is not None:
            print(f"free at {self.store.uri}: {size(free)}")
        print("nothing was started, written or removed", flush=True)


@contextmanager
def open_run(config: StageConfig) -> Iterator[Run]:
    """Open a job's run; with --dry-run, open it without changing it and print the total at the end.

    Raises:
        InputError: `Run` raises this error.
    """
    if not config.dry_run:
        run = Run(config.out)
        try:
            yield run
        except InputError:
            # The corrected command must not be compared with the refused options.
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
