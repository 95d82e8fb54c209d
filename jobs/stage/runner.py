"""The life cycle of a stage: it is begun, workers do the missing items of its steps, and its tables are published."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from jobs.engine.connect import pool_size
from jobs.engine.fan_out import fan_out
from jobs.engine.item import Item
from jobs.engine.machines import on_every_machine
from jobs.engine.progress import Progress
from jobs.engine.under_way import sentences_under_way
from jobs.options.configs import StageConfig
from jobs.run_folder.run import Run
from jobs.stage.dry_run import DryRun
from jobs.stage.outputs import Contents, whole_table
from jobs.stage.plan import print_plan
from jobs.stage.step import Step, Steps
from ops.errors import visible


class Stage:
    """A stage that was begun: its steps are done one after another until it is finished.

    Attributes:
        name, fingerprint: the name of the stage, and a hash of everything that its results depend on.
        run, store: the run, and its folder as this stage sees it.
        workers: the maximum number of workers of a step; None for as many as a cluster brings up.
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

    def write(self, table: str, contents: Contents) -> int:
        """Put the only part of a table in place, and return its number of rows."""
        return whole_table(table).commit(self.store, contents, self.fingerprint)

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
            rows: the number of rows of each table, as far as it is known before the stage runs, for its plan.
            counts: the counts that later stages read, as they are expected to be, for their plans.
            notes: further lines of the plan.
        """
        if isinstance(self.run, DryRun):
            print_plan(self.run, self.name, self.workers, self.missing, steps, rows or {}, counts or {}, notes)
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
            for row in self._spread(step, todo):
                rows.append(row)
                progress.add(row.get("sentences", 0))
                if progress.is_due():
                    self.run.note(self.name, progress.entry())
                if step.each is not None:
                    step.each(row)
        return rows

    def _spread(self, step: Step, todo: list[Item]) -> Iterator[Item]:
        make, args = step.committing(self.store, self.fingerprint)
        prepare = step.prepare if step.reads_ahead else None
        how = replace(step, workers=step.workers or self.workers, prepare=prepare)

        def name_item(item: Item) -> str:
            return f"{step.name}: {step.outputs(item)[-1].path}"

        return fan_out(todo, make, args, how, name=step.name, name_item=name_item)

    def drop_copies(self) -> None:
        """Remove every machine's copy of the annotated sentences, unless partial files are kept or this is a plan."""
        from ops.sentences.local_copy import drop_sentences  # with the reader of sentences, which few workers need

        if not (self.is_planned or self.keep_partials):
            on_every_machine(partial(drop_sentences, self.run.require("annotate")["fingerprint"]))

    def finish(self, counts: dict[str, Any]) -> None:
        """Put all tables in place with these counts, and remove the partial files unless they must be kept."""
        took = time.monotonic() - self.begun
        self.run.finish(self.name, counts, took, self.of_the_run, self.keep_partials)


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
