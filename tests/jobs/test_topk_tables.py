"""What becomes of the shards' partial files once all are there."""

from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from jobs.topk import steps


@pytest.mark.parametrize(
    ("merge", "sample", "damaged"),
    [({}, {}, {}), ({3: "a"}, {}, {3: "a"}), ({}, {2: "b"}, {2: "b"}), ({3: "a"}, {2: "b"}, {2: "b", 3: "a"})],
)
def test_activations_are_written_while_ranges_are_merged(
    monkeypatch: pytest.MonkeyPatch, merge: dict[int, str], sample: dict[int, str], damaged: dict[int, str]
) -> None:
    merging, writing = Event(), Event()

    def write_activations(*_: Any) -> tuple[int, dict[int, str]]:
        writing.set()
        assert merging.wait(20)
        return 7, sample

    replaced = {"read_notes": [], "account": {"scored": 9}, "write_unscored": [], "merge_step": "merge"}
    for name, value in replaced.items():
        monkeypatch.setattr(steps, name, lambda *_, value=value: value)
    monkeypatch.setattr(steps, "write_activations", write_activations)
    job: Any = SimpleNamespace(stage=SimpleNamespace(store=None), partials=[], corpus={"counts": {}})
    part = steps.merged_tables(job, SimpleNamespace(fingerprint="f", sparse=False, neurons=None))
    assert next(part) == ["merge"]
    merging.set()
    assert writing.wait(20)
    with pytest.raises(StopIteration) as end:
        part.send([{"damaged": {str(shard): why for shard, why in merge.items()}}])
    assert end.value.value == ({"scored": 9, "activation_sample": 7}, damaged)
