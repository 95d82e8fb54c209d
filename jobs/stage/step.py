"""A step of a stage: its items, the files of each, and the worker that makes them."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from jobs.engine.fan_out import Spread
from jobs.engine.item import Item, Worker, works_in_two_parts
from jobs.stage.dry_run import DryRun
from jobs.stage.outputs import Contents, Output
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store

Made = Mapping[Output, Contents]


@dataclass(frozen=True, kw_only=True)
class Step(Spread):
    """One step of a stage, whose items are done in any order by any worker, each completely or not at all.

    Further attributes, those of `Spread`, say how the items are spread over workers. A worker of a step with `prepare`
    is called with its result too, or with None if items are not read ahead. By default a step has as many workers as
    its stage may have.

    Attributes:
        name: the name shown with its progress, such as `topk: merge`.
        items: JSON-able descriptions of all work of the step, in the order in which the items are handed out.
        outputs: returns the files of an item in the order in which they are committed, so that the last file exists
            only if all do. An item is done if each of its files is complete.
        worker: does the work of an item and returns the contents of each of its files, or of its only file. A class is
            called with `args` once in each process, and its object with each item; a function is called with `args` and
            the item.
        unit: what an item is (`shards`); empty for a step that is too short for a line of progress.
        work: what is counted inside the items (`sentences`), and their total number (None if it is unknown). If this is
            set, the items hold `sentences`.
        reads_ahead: whether items are read ahead with `prepare`.
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
    reads_ahead: bool = True
    amount: float = 0.0
    estimate: Callable[[DryRun], float | None] | None = None
    each: Callable[[Item], None] | None = None

    @property
    def files(self) -> list[Output]:
        """The files of all items, in the order of the items."""
        return [output for item in self.items for output in self.outputs(item)]

    def is_done(self, item: Item, store: Store, fingerprint: str) -> bool:
        """Tell whether all files of an item are complete; the last one is checked first, being most likely missing."""
        return all(output.is_whole(store, fingerprint) for output in reversed(self.outputs(item)))

    def missing(self, store: Store, fingerprint: str) -> list[Item]:
        """Return the items that are not done, in their order."""
        done = side_by_side(lambda item: self.is_done(item, store, fingerprint), self.items)
        return [item for item, is_done in zip(self.items, done, strict=True) if not is_done]

    def committing(self, store: Store, fingerprint: str) -> tuple[Callable[..., Worker], Item]:
        """Return what makes a worker that commits the files of its items, and the arguments to make it from."""
        worker: Callable[..., Worker] = self.worker
        if works_in_two_parts(self.worker):
            return worker, self.args
        sent = replace(self, items=(), estimate=None, each=None)
        return Committer, {"step": sent, "store": store, "fingerprint": fingerprint}


class Committer:
    """A worker of a step in the form in which the engine calls it: it commits what the step's worker makes."""

    def __init__(self, step: Step, store: Store, fingerprint: str) -> None:
        self.step, self.store, self.fingerprint = step, store, fingerprint
        self.work = step.worker(**step.args) if isinstance(step.worker, type) else partial(step.worker, **step.args)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do one item's work, commit its files in their order, and return the row that reports it."""
        made: Any = self.work(item, prepared) if self.step.prepare is not None else self.work(item)
        outputs = self.step.outputs(item)
        if not isinstance(made, Mapping):
            (only,) = outputs
            made = {only: made}
        if any(isinstance(name, str) for name in made):
            return dict(made)  # a worker that commits by itself returns its row
        for output in outputs:
            output.commit(self.store, made[output], self.fingerprint)
        return {"sentences": item.get("sentences", 0)}


# The steps of a stage in their order, in groups whose items are all known before the first of them is done. The rows of
# the last step of a group are sent back, and the counts for run.json are returned.
Steps = Generator[Sequence[Step], list[Item] | None, dict[str, Any]]
