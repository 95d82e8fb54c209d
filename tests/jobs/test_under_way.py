"""What run.json says of a stage under way, and what a reader of the run is told."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from jobs.engine.item import Item
from jobs.run_folder.run import Run
from jobs.stage.outputs import shard_file
from jobs.stage.runner import Stage
from jobs.stage.step import Step
from ops.errors import InputError


class Peek:
    """Says of each item what run.json held when the item was begun."""

    def __init__(self, out: str) -> None:
        self.out = Path(out)

    def __call__(self, item: Item) -> Item:
        record = json.loads((self.out / "run.json").read_text(encoding="utf-8"))
        return {"sentences": 7, "seen": record["stages"]["ingest"].get("progress")}


def test_the_record_says_how_far_a_stage_is_and_forgets_it_at_the_end(tmp_path: Path) -> None:
    run = Run(str(tmp_path))
    stage = Stage("ingest", run, run.begin("ingest", {}, {}, False), 1, False)
    items = [{"shard": i} for i in range(3)]
    shard_file("ingest", 0).commit(stage.store, pa.table({"n": [1]}), stage.fingerprint)
    step = Step(
        name="ingest", items=items, outputs=lambda item: [shard_file("ingest", item["shard"])], worker=Peek,
        args={"out": str(tmp_path)}, unit="pieces", here=True,
    )  # fmt: skip
    rows = stage.do(step)
    assert rows[0]["seen"] is None
    seen = rows[1]["seen"]
    assert {name: seen[name] for name in ("step", "unit", "done", "of", "rate_of")} == {
        "step": "ingest", "unit": "pieces", "done": 2, "of": 3, "rate_of": "sentences",
    }  # fmt: skip
    assert seen["rate"] > 0
    assert datetime.now(UTC) - datetime.fromisoformat(seen["last_commit"]) < timedelta(minutes=2)

    said = r"ingest is not complete \(ingest: 2 of 3 pieces, the last at .*; if a job is running, wait for it\)"
    with pytest.raises(InputError, match=said):
        Run(str(tmp_path)).require("ingest")
    stage.finish({})
    assert "progress" not in Run(str(tmp_path)).require("ingest")
