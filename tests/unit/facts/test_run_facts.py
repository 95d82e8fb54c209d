"""What is known about a run from run.json and neurons/."""

from pathlib import Path
from typing import Any

import pytest

from ops.facts.run_facts import RunFacts
from ops.sentences.selection import most_wins
from ops.topk.neurons import Neurons
from tests.unit.facts.made_up_rows import write_tables

FEATURES, ACTIVE, SCORED = 3_000, 500, 10_000


def test_features_that_are_never_active_make_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row: dict[str, Any] = {"layer": 1, "is_silent": False, "bottom_threshold": None}
    rows = [row | {"unit": unit, "top_threshold": 0.5 if unit < ACTIVE else None} for unit in range(FEATURES)]
    store, expected = write_tables(tmp_path, {"neurons": rows}), most_wins(100, SCORED, ACTIVE)
    monkeypatch.setattr("ops.facts.run_facts.read_neurons", lambda _: Neurons((FEATURES,)))
    topk = {"identity": {"poles": "top", "k": 100}, "counts": {"scored": SCORED}, "complete": True}
    run = {"tables": {}, "stages": {"topk": topk, "mine": {"config": {}, "complete": True}}}
    assert RunFacts(store, run).most_wins == expected
