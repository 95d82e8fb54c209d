"""Doing a step by hand, item by item in reverse, with every promise of a step checked on the way."""

from unittest.mock import patch

from jobs.stage.runner import Step
from ops.storage.store import Store


def do_in_reverse(step: Step, out: str, fingerprint: str = "f") -> None:
    """Do each item once, and check when it counts as done: only then, only for this fingerprint, files in order."""
    store, commit_several = Store(out), Store.commit_several
    worker = step.worker(**step.args)
    for item in reversed(step.items):
        committed: list[str] = []

        def watched(self: Store, names: dict[str, str], write: object, seen: list[str] = committed) -> None:
            commit_several(self, names, write)  # type: ignore[arg-type]
            if self.root == store.root:
                seen.extend(names.values())

        assert not step.is_done(item, store, fingerprint)
        with patch.object(Store, "commit_several", watched):
            worker(item, None)
        assert committed == [output.path for output in step.outputs(item)]
        assert step.is_done(item, store, fingerprint)
        assert not step.is_done(item, store, fingerprint + "other")
    assert step.missing(store, fingerprint) == []
