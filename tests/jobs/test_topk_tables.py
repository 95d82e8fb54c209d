"""What becomes of the shards' partial files once all are there."""

from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from jobs.topk import tables
from ops.topk.datasets import NO_DATASETS
from ops.topk.neurons import Neurons


@pytest.mark.parametrize(
    ("merge", "sample", "damaged"),
    [({}, {}, {}), ({3: "a"}, {}, {3: "a"}), ({}, {2: "b"}, {2: "b"}), ({3: "a"}, {2: "b"}, {2: "b", 3: "a"})],
)
def test_activations_are_written_while_ranges_are_merged(
    monkeypatch: pytest.MonkeyPatch, merge: dict[int, str], sample: dict[int, str], damaged: dict[int, str]
) -> None:
    merging, writing = Event(), Event()

    def merge_ranges(*_: Any) -> dict[int, str]:
        merging.set()
        assert writing.wait(20)
        return merge

    def write_activations(*_: Any) -> tuple[int, dict[int, str]]:
        writing.set()
        assert merging.wait(20)
        return 7, sample

    for name, found in {"read_notes": [], "account": {"scored": 9}, "write_unscored": []}.items():
        monkeypatch.setattr(tables, name, lambda *_, found=found: found)
    monkeypatch.setattr(tables, "merge_ranges", merge_ranges)
    monkeypatch.setattr(tables, "write_activations", write_activations)
    job: Any = SimpleNamespace(stage=SimpleNamespace(store=None), partials=[], corpus={"counts": {}})
    args: Any = SimpleNamespace(fingerprint="f", k=1, poles=("top",), sparse=False, datasets=NO_DATASETS)
    assert tables.write_tables(job, args, Neurons((2,))) == ({"scored": 9, "activation_sample": 7}, damaged)
