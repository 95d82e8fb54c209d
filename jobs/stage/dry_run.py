"""`--dry-run`: each stage begins as usual and then prints what it would do; nothing is changed."""

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jobs.engine.connect import stays_here
from jobs.engine.item import Item
from jobs.options.configs import StageConfig
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from jobs.stage.costs import ACTORS_START_S, FIRST_START_S, SECONDS, TASKS_START_S
from ops.clock import duration
from ops.errors import InputError, visible
from ops.schema import row_bytes
from ops.storage.read_only import ReadOnlyStore

if TYPE_CHECKING:
    from jobs.stage.step import Step, Steps
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
        self._plans: dict[str, tuple[float, int, list[str]]] = {}  # seconds, bytes, and steps of unknown duration
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

    def is_expected(self, name: str) -> bool:
        """Tell whether a stage's results do not exist yet and are only assumed, so that later stages can be planned."""
        entry = self.stage(name)
        return entry is not None and "expected" in entry

    def plan(
        self,
        stage: str,
        workers: int | None,
        missing: "Callable[[Step], list[Item]]",
        steps: "Steps",
        rows: Mapping[str, int],
        counts: Mapping[str, Any],
        notes: Sequence[str],
    ) -> None:
        """Print what a stage would do, and treat it as complete.

        Args:
            stage: the name of the stage.
            workers: the maximum number of workers of a step.
            missing: returns the items of a step that are not done.
            steps, rows, counts, notes: the arguments of `Stage.complete`.
        """
        work: list[str] = []
        seconds, unknown = 0.0, []
        for group in steps:
            todo = [missing(step) for step in group]
            for step, items in zip(group, todo, strict=True):
                if step.unit:
                    work.append(_work(stage, step, items))
                took = self._seconds(step, len(items), step.workers or workers)
                seconds += took or 0.0
                if took is None:
                    unknown.append(step.name.rpartition(": ")[2])
            if any(todo):
                break  # what follows depends on what these steps make
        steps.close()
        written = round(sum(number * row_bytes(table) for table, number in rows.items()))
        tables = [t for t in STAGES[stage].tables if rows.get(t, 1) and not t.startswith("_")]
        plus = f", plus {', '.join(unknown)}" if unknown else ""
        lines = [stage]
        if self._dropped:
            lines.append(f"  drop    existing tables of {', '.join(self._dropped)}")
            self._dropped = []
        lines += [f"  {'do' if i == 0 else '':<8}{line}" for i, line in enumerate([*work, *notes])]
        lines.append(f"  write   {' '.join(f'{t}/' for t in tables)}")
        lines.append(f"  time    {f'about {duration(seconds)}{plus}' if seconds or not unknown else 'not known'}")
        lines.append(f"  disk    about {size(written)}")
        if self.assumed:
            lines.append(f"  by      {self.assumed}")
        print("\n".join(map(visible, lines)), flush=True)
        self._plans[stage] = seconds, written, unknown
        self.under_way(stage).update(complete=True, expected=True, counts=dict(counts))

    def _seconds(self, step: "Step", missing: int, workers: int | None) -> float | None:
        """Return the seconds of a step's missing items, its start included; None if nothing is known about them."""
        if not missing or not (step.unit or step.estimate):
            return 0.0
        cost = SECONDS.get(step.name)
        every = step.estimate(self) if step.estimate is not None else cost and step.amount * cost
        if every is None:
            return None
        worker_s = every * missing / len(step.items)
        if step.here or stays_here(missing, workers):
            return worker_s
        start = ACTORS_START_S if step.actors else TASKS_START_S
        if not self._spreads:
            self._spreads, start = True, FIRST_START_S
        rounds = math.ceil(missing / min(workers or 1, missing))
        return start + worker_s * rounds / missing  # as if all items took equally long

    def print_total(self) -> None:
        """Print the total time and size of all stages, and the free space."""
        if not self._plans:
            print("in all: nothing to do")
        else:
            unknown = [stage for stage, (_, _, steps) in self._plans.items() if steps]
            plus = f", plus unknown times of {', '.join(unknown)}" if unknown else ""
            seconds = sum(seconds for seconds, _, _ in self._plans.values())
            written = sum(written for _, written, _ in self._plans.values())
            print(f"in all: about {duration(seconds)}; about {size(written)} of tables{plus}")
        free = self.store.free_bytes()
        if free is not None:
            print(f"free at {self.store.uri}: {size(free)}")
        print("nothing was started, written or removed", flush=True)


def _work(stage: str, step: "Step", missing: list[Item]) -> str:
    name = step.name.rpartition(": ")[2]
    label = "" if name == stage else f"{name}: "
    line = f"{label}{len(missing):,} of {len(step.items):,} {step.unit}"
    if step.work is None or step.work[1] is None:
        return line
    what, whole = step.work
    return f"{line}, {sum(item['sentences'] for item in missing):,} of {whole:,} {what}"


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
