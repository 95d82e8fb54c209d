"""The engine without Ray: the items of a step are done in this process, by workers that take turns."""

from collections.abc import Callable, Iterator
from unittest.mock import patch

from jobs.engine.connect import one_thread_a_worker
from jobs.engine.fan_out import Spread
from jobs.engine.item import Item, Worker
from jobs.engine.under_way import item_here
from jobs.stage.step import Step
from ops.storage.lock import LOCK
from ops.storage.store import Store


class Stopped(Exception):
    """The user stops a job in the middle of a step."""


class InProcess:
    """Does what `fan_out` does, without Ray; tests put it in the place of `jobs.stage.runner.fan_out`.

    Two workers take turns where more than one is asked for, so that no result may depend on which of them does an item.

    Attributes:
        most: the number of items after which the job is stopped; None for all.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most

    def __call__(
        self,
        items: list[Item],
        make: Callable[..., Worker],
        args: Item,
        how: Spread,
        *,
        name: str,
        name_item: Callable[[Item], str] = str,
    ) -> Iterator[Item]:
        one_thread_a_worker()
        pool: list[Worker] = []
        for place, item in enumerate(items):
            if self.most is not None:
                if not self.most:
                    raise Stopped
                self.most -= 1
            if len(pool) < min(how.workers or 2, 2):
                pool.append(make(**args))
            with item_here(name_item(item)):
                yield pool[place % len(pool)](item, how.prepare(item) if how.prepare else None)


def do_in_reverse(step: Step, out: str | Store, fingerprint: str = "f") -> None:
    """Do each item once, and check when it counts as done: only then, only for this fingerprint, files in order."""
    store, commit_several = out if isinstance(out, Store) else Store(out), Store.commit_several
    make, args = step.committing(store, fingerprint)
    worker = make(**args)
    for item in reversed(step.items):
        committed: list[str] = []

        def watched(self: Store, names: dict[str, str], write: object, seen: list[str] = committed) -> None:
            commit_several(self, names, write)  # type: ignore[arg-type]
            if self.root == store.root:
                seen.extend(name for name in names.values() if name != LOCK)

        assert not step.is_done(item, store, fingerprint)
        with patch.object(Store, "commit_several", watched):
            worker(item, None)
        assert committed == [output.path for output in step.outputs(item)]
        assert step.is_done(item, store, fingerprint)
        assert not step.is_done(item, store, fingerprint + "other")
    assert step.missing(store, fingerprint) == []
