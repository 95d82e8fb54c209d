"""The life cycle of a stage: it is begun, workers do the missing items of its steps, and its tables are published."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.engine.connect import pool_size
from jobs.engine.fan_out import ITEMS_AHEAD, fan_out
from jobs.engine.item import Item, Worker
from jobs.engine.progress import Progress
from jobs.engine.under_way import sentences_under_way
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.files import Output, clear
from jobs.stage.options import StageConfig
from jobs.stage.run import Run
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store


@dataclass(frozen=True)
class Step:
    """One step of a stage, whose items are done in any order by any worker, each completely or not at all.

    Attributes:
        name: the name shown with its progress, such as `topk: merge`.
        items: JSON-able descriptions of all work of the step, in the order in which the items are handed out.
        outputs: returns the files of an item in the order in which its worker commits them, so that the last file
            exists only if all do. An item is done if each of its files is complete.
        worker: makes the object that does an item's work, once in each process.
        args: the arguments from which the worker is made.
        unit: what an item is (`shards`); empty for a step that is too short for a line of progress.
        work: what is counted inside the items (`sentences`), and their total number (None if it is unknown). If this is
            set, the worker's rows hold `sentences`.
        prepare: a function that may be applied to an item on other cores before its worker gets it.
        holds: the resources that a worker holds (`cpus`, `gpus`); by default one core.
        workers: the maximum number of workers; None for the maximum of the stage.
        actors: whether its workers are actors, for workers that load a model. Otherwise items are tasks (see
            `fan_out`).
        here: whether to do the step in this process, for work that takes less time than the start of a worker.
        ahead: the number of items that a worker has at a time, the current item included.
        memory: the bytes of memory of a worker, if they may exceed a core's share of a machine's memory (see
            `fan_out`).
    """

    name: str
    items: Sequence[Item]
    outputs: Callable[[Item], Sequence[Output]]
    worker: Callable[..., Worker]
    args: Item
    unit: str = ""
    work: tuple[str, int | None] | None = None
    prepare: Callable[[Item], Any] | None = None
    holds: dict[str, Any] = field(default_factory=dict)
    workers: int | None = None
    actors: bool = False
    here: bool = False
    ahead: int = ITEMS_AHEAD
    memory: int = 0

    def is_done(self, item: Item, store: Store, fingerprint: str) -> bool:
        """Tell whether all files of an item are complete; the last one is checked first, being most likely missing."""
        return all(output.is_whole(store, fingerprint) for output in reversed(self.outputs(item)))

    def missing(self, store: Store, fingerprint: str) -> list[Item]:
        """Return the items that are not done, in their order."""
        done = side_by_side(lambda item: self.is_done(item, store, fingerprint), self.items)
        return [item for item, is_done in zip(self.items, done, strict=True) if not is_done]

    def spread(self, todo: list[Item], workers: int | None) -> Iterator[Item]:
        """Do these items and return each item's row as soon as it is available."""
        return fan_out(
            todo,
            self.worker,
            self.args,
            name=self.name,
            name_item=lambda item: f"{self.name}: {self.outputs(item)[-1].path}",
            workers=self.workers or workers,
            prepare=self.prepare,
            actors=self.actors,
            here=self.here,
            ahead=self.ahead,
            memory=self.memory,
            **self.holds,
        )


class Stage:
    """A stage that is running: it was begun, and its steps are done one after another until it is finished.

    Attributes:
        name, fingerprint: the name of the stage, and a hash of everything that its results depend on.
        record, store: the run, and its folder as this stage sees it.
        workers: the maximum number of workers of a step; None for as many as a cluster brings up.
        begun: the time of the monotonic clock at which it was begun.
    """

    def __init__(self, name: str, record: Run, fingerprint: str, workers: int | None, keep_partials: bool) -> None:
        self.name, self.fingerprint = name, fingerprint
        self.record, self.store = record, record.store_of(name)
        self.workers, self.keep_partials = workers, keep_partials
        self.begun = time.monotonic()

    @property
    def entry(self) -> dict[str, Any]:
        """The stage's entry in run.json."""
        return self.record.under_way(self.name)

    def missing(self, step: Step) -> list[Item]:
        """Return the items of a step that are not done."""
        return step.missing(self.store, self.fingerprint)

    def do(self, step: Step, each: Callable[[Item], None] | None = None, todo: list[Item] | None = None) -> list[Item]:
        """Do the missing items of a step.

        Args:
            step: the step.
            each: called with the row of each item as soon as it is available.
            todo: the missing items, if the caller knows them already.

        Returns:
            The rows of the items that were done now.
        """
        rows = []
        todo = self.missing(step) if todo is None else todo
        done = len(step.items) - len(todo)
        with Progress(
            step.name, len(step.items), step.unit, done, step.work, under_way=sentences_under_way
        ) as progress:
            for row in step.spread(todo, self.workers):
                rows.append(row)
                progress.add(row.get("sentences", 0))
                if progress.is_due():
                    self.record.note(self.name, progress.entry())
                if each is not None:
                    each(row)
        return rows

    def finish(self, counts: dict[str, Any], of_the_run: dict[str, Any] | None = None) -> None:
        """Put all tables in place with these counts, and remove the partial files unless they must be kept.

        Args:
            counts: the counts for the stage's entry in run.json.
            of_the_run: further top-level entries of run.json.
        """
        self.record.finish(self.name, counts, time.monotonic() - self.begun, of_the_run)
        if not self.keep_partials:
            clear(self.record.store, self.name)


@dataclass(frozen=True)
class StageSpec:
    """How a job describes one of its stages; `stages.STAGES` lists the stage's tables and the stages that it reads.

    Attributes:
        name: the name of the stage.
        depends_on: the options and inputs that its results depend on, except the stages that it reads.
        do: does the missing items of its steps, writes the tables, and returns the counts for run.json.
        plan: returns what the stage would do, for `--dry-run`.
        counted: the name of the count that is printed if the stage was already done, and the words for it.
        options: the resolved options, for the record; by default the options of the job.
        about: further entries of the stage in run.json, such as the model.
        of_the_run: returns top-level entries of run.json from the counts, once the stage is done.
        say: prints the findings from the counts, once the stage is done.
    """

    name: str
    depends_on: dict[str, Any]
    do: "Callable[[Stage], dict[str, Any]]"
    plan: "Callable[[Stage, DryRun], Plan]"
    counted: tuple[str, str] = ("sentences", "sentences")
    options: dict[str, Any] | None = None
    about: dict[str, Any] = field(default_factory=dict)
    of_the_run: "Callable[[Stage, dict[str, Any]], dict[str, Any]] | None" = None
    say: Callable[[dict[str, Any]], None] | None = None


def run_stage(spec: StageSpec, options: StageConfig, record: Run) -> Stage | None:
    """Start or resume a stage, do its missing work and put its tables in place.

    Under `--dry-run` the plan is printed instead, and the stage is then treated as complete.

    Returns:
        The stage; None if it was already done, which is printed.

    Raises:
        InputError: a stage that this stage reads is missing, or the directory holds results of other options.
    """
    resolved = options.model_dump(mode="json") if spec.options is None else spec.options
    fingerprint = record.begin(spec.name, spec.depends_on, resolved, options.redo)
    if fingerprint is None:
        count, what = spec.counted
        record.done_before(spec.name, f"{record.require(spec.name)['counts'][count]:,} {what}")
        return None
    stage = Stage(spec.name, record, fingerprint, pool_size(options.workers), options.keep_partials)
    stage.entry.update(spec.about)
    if isinstance(record, DryRun):
        record.plan(spec.name, spec.plan(stage, record))
    else:
        counts = spec.do(stage)
        stage.finish(counts, spec.of_the_run(stage, counts) if spec.of_the_run is not None else None)
        if spec.say is not None:
            spec.say(counts)
    return stage
