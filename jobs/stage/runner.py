"""The life cycle of a stage: it is begun, workers do the missing items of its steps, and its tables are published."""

import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from jobs.engine.connect import pool_size
from jobs.engine.fan_out import ITEMS_AHEAD, fan_out
from jobs.engine.item import Item, Worker
from jobs.engine.progress import Progress
from jobs.engine.under_way import sentences_under_way
from jobs.stage.dry_run import DryRun
from jobs.stage.options import StageConfig
from jobs.stage.outputs import Contents, Output
from jobs.stage.plan import print_plan
from jobs.stage.publish import clear
from jobs.stage.run import Run
from ops.errors import visible
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store

Made = Mapping[Output, Contents]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a stage, whose items are done in any order by any worker, each completely or not at all.

    Attributes:
        name: the name shown with its progress, such as `topk: merge`.
        items: JSON-able descriptions of all work of the step, in the order in which the items are handed out.
        outputs: returns the files of an item in the order in which they are committed, so that the last file exists
            only if all do. An item is done if each of its files is complete.
        worker: does the work of an item and returns the contents of each of its files. A class is called with `args`
            once in each process, and its object with each item; a function is called with `args` and the item.
        args: the arguments of the worker.
        unit: what an item is (`shards`); empty for a step that is too short for a line of progress.
        work: what is counted inside the items (`sentences`), and their total number (None if it is unknown). If this is
            set, the items hold `sentences`.
        prepare: a function that is applied to an item on other cores before its worker gets it. The worker is called
            with its result too, or with None if items are not read ahead.
        reads_ahead: whether items are read ahead with `prepare`.
        holds: the resources that a worker holds (`cpus`, `gpus`); by default one core.
        workers: the maximum number of workers; None for the maximum of the stage.
        actors: whether its workers are actors, for workers that load a model. Otherwise items are tasks (see
            `fan_out`).
        here: whether to do the step in this process, for work that takes less time than the start of a worker.
        ahead: the number of items that a worker has at a time, the current item included.
        memory: the bytes of memory of a worker, if they may exceed a core's share of a machine's memory (see
            `fan_out`).
        amount: the amount of work in all items, in the unit of the step's entry in `jobs.stage.costs`.
        estimate: returns the seconds that one worker needs for all items, for `--dry-run`; None if they are unknown. By
            default they follow from `amount`.
        each: called with the row of each item as soon as it is available.
    """

    name: str
    items: Sequence[Item]
    outputs: Callable[[Item], Sequence[Output]]
    worker: Callable[..., Any]
    args: Item
    unit: str = ""
    work: tuple[str, int | None] | None = None
    prepare: Callable[[Item], Any] | None = None
    reads_ahead: bool = True
    holds: dict[str, Any] = field(default_factory=dict)
    workers: int | None = None
    actors: bool = False
    here: bool = False
    ahead: int = ITEMS_AHEAD
    memory: int = 0
    amount: float = 0.0
    estimate: Callable[[DryRun], float | None] | None = None
    each: Callable[[Item], None] | None = None

    def is_done(self, item: Item, store: Store, fingerprint: str) -> bool:
        """Tell whether all files of an item are complete; the last one is checked first, being most likely missing."""
        return all(output.is_whole(store, fingerprint) for output in reversed(self.outputs(item)))

    def missing(self, store: Store, fingerprint: str) -> list[Item]:
        """Return the items that are not done, in their order."""
        done = side_by_side(lambda item: self.is_done(item, store, fingerprint), self.items)
        return [item for item, is_done in zip(self.items, done, strict=True) if not is_done]

    def committing(self, store: Store, fingerprint: str) -> tuple[Callable[..., Worker], Item]:
        """Return what makes a worker that commits the files of its items, and the arguments to make it from."""
        if callable(getattr(self.worker, "begin", None)):
            return self.worker, self.args
        made = {"worker": self.worker, "args": self.args, "prepares": self.prepare is not None}
        return Committer, {**made, "outputs": self.outputs, "store": store, "fingerprint": fingerprint}

    def spread(self, todo: list[Item], stage: "Stage") -> Iterator[Item]:
        """Do these items and return each item's row as soon as it is available."""
        make, args = self.committing(stage.store, stage.fingerprint)
        return fan_out(
            todo,
            make,
            args,
            name=self.name,
            name_item=lambda item: f"{self.name}: {self.outputs(item)[-1].path}",
            workers=self.workers or stage.workers,
            prepare=self.prepare if self.reads_ahead else None,
            actors=self.actors,
            here=self.here,
            ahead=self.ahead,
            memory=self.memory,
            **self.holds,
        )


class Committer:
    """A worker of a step in the form in which the engine calls it: it commits what the step's worker makes."""

    def __init__(
        self,
        worker: Callable[..., Any],
        args: Item,
        prepares: bool,
        outputs: Callable[[Item], Sequence[Output]],
        store: Store,
        fingerprint: str,
    ) -> None:
        self.work = worker(**args) if isinstance(worker, type) else partial(worker, **args)
        self.prepares, self.outputs, self.store, self.fingerprint = prepares, outputs, store, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one item's work, commit its files in their order, and return the row that reports it."""
        made: Made = self.work(item, prepared) if self.prepares else self.work(item)
        if not all(isinstance(output, Output) for output in made):
            return dict(made)  # a worker that commits by itself returns its row
        for output in self.outputs(item):
            output.commit(self.store, made[output], self.fingerprint)
        return {"sentences": item.get("sentences", 0)}


# The steps of a stage in their order, in groups whose items are all known before the first of them is done. The rows of
# the last step of a group are sent back, and the counts for run.json are returned.
Steps = Generator[Sequence[Step], list[Item] | None, dict[str, Any]]


class Stage:
    """A stage that was begun: its steps are done one after another until it is finished.

    Attributes:
        name, fingerprint: the name of the stage, and a hash of everything that its results depend on.
        run, store: the run, and its folder as this stage sees it.
        workers: the maximum number of workers of a step; None for as many as a cluster brings up.
        begun: the time of the monotonic clock at which it was begun.
        of_the_run: top-level entries of run.json that are written with the counts.
    """

    def __init__(self, name: str, run: Run, fingerprint: str, workers: int | None, keep_partials: bool) -> None:
        self.name, self.fingerprint = name, fingerprint
        self.run, self.store = run, run.store_of(name)
        self.workers, self.keep_partials = workers, keep_partials
        self.of_the_run: dict[str, Any] = {}
        self.begun = time.monotonic()

    @property
    def entry(self) -> dict[str, Any]:
        """The stage's entry in run.json."""
        return self.run.under_way(self.name)

    @property
    def is_planned(self) -> bool:
        """Whether the stage is only planned, for `--dry-run`: then its steps are listed, and none is done."""
        return isinstance(self.run, DryRun)

    def say(self, text: str) -> None:
        """Print a line about the results on standard error."""
        print(f"{self.name.partition('/')[0]}: {visible(text)}", file=sys.stderr)

    def missing(self, step: Step) -> list[Item]:
        """Return the items of a step that are not done."""
        return step.missing(self.store, self.fingerprint)

    def complete(
        self,
        steps: Steps,
        rows: Mapping[str, int] | None = None,
        counts: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
    ) -> dict[str, Any] | None:
        """Do the missing items of all steps, put the tables in place and return the counts.

        Under `--dry-run` the plan is printed instead, the stage is then treated as complete, and None is returned.

        Args:
            steps: the steps.
            rows: the number of rows of each table, as far as it is known before the stage runs, for its plan.
            counts: the counts that later stages read, as they are expected to be, for their plans.
            notes: further lines of the plan.
        """
        if isinstance(self.run, DryRun):
            print_plan(self.run, self, steps, rows or {}, counts or {}, notes)
            return None
        done: list[Item] | None = None
        while True:
            try:
                group = steps.send(done)
            except StopIteration as end:
                counts_now: dict[str, Any] = end.value
                break
            try:
                for step in group:
                    done = self.do(step)
            except BaseException as error:
                steps.throw(error)  # ends what the steps began beside their yields
                raise
        self.finish(counts_now)
        return counts_now

    def do(self, step: Step) -> list[Item]:
        """Do the missing items of a step, and return the rows of the items that were done now."""
        rows = []
        todo = self.missing(step)
        done = len(step.items) - len(todo)
        with Progress(
            step.name, len(step.items), step.unit, done, step.work, under_way=sentences_under_way
        ) as progress:
            for row in step.spread(todo, self):
                rows.append(row)
                progress.add(row.get("sentences", 0))
                if progress.is_due():
                    self.run.note(self.name, progress.entry())
                if step.each is not None:
                    step.each(row)
        return rows

    def finish(self, counts: dict[str, Any]) -> None:
        """Put all tables in place with these counts, and remove the partial files unless they must be kept."""
        self.run.finish(self.name, counts, time.monotonic() - self.begun, self.of_the_run)
        if not self.keep_partials:
            clear(self.run.store, self.name)


def begin_stage(
    name: str,
    config: StageConfig,
    run: Run,
    depends_on: dict[str, Any],
    *,
    counted: tuple[str, str] = ("sentences", "sentences"),
    options: dict[str, Any] | None = None,
    about: dict[str, Any] | None = None,
) -> Stage | None:
    """Start or resume a stage; return None if it was already done, which is printed.

    Args:
        name: the name of the stage; `stages.STAGES` lists its tables and the stages that it reads.
        config: the options of the job.
        run: the run.
        depends_on: the options and inputs that its results depend on, except the stages that it reads.
        counted: the name of the count that is printed if the stage was already done, and the words for it.
        options: the resolved options, for the record; by default the options of the job.
        about: further entries of the stage in run.json, such as the model.

    Raises:
        InputError: a stage that this stage reads is missing, or the directory holds results of other options.
    """
    resolved = config.model_dump(mode="json") if options is None else options
    fingerprint = run.begin(name, depends_on, resolved, config.redo)
    if fingerprint is None:
        count, what = counted
        run.done_before(name, f"{run.require(name)['counts'][count]:,} {what}")
        return None
    stage = Stage(name, run, fingerprint, pool_size(config.workers), config.keep_partials)
    stage.entry.update(about or {})
    return stage
