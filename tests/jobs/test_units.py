"""`--units`: which neurons are mined and compared, and when they must be named."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.compare import steps as compare
from jobs.compare.job import CompareConfig
from jobs.mine import steps as mine
from jobs.mine.job import MineConfig
from jobs.options.configs import MOST_UNITS
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from jobs.stage.units import check_units
from ops.errors import InputError
from ops.schema import SCHEMA_VERSION, TOOL, activations_schema
from ops.topk.neurons import Neurons


def write_run(out: Path, widths: tuple[int, ...], **mined: Any) -> Run:
    """A run, as far as is looked at before a stage begins."""
    path = out / "activations" / "part-00000.parquet"
    path.parent.mkdir()
    pq.write_table(activations_schema(dict(enumerate(widths, 1))).empty_table(), path)
    (out / "neurons").mkdir()
    units = [(layer, unit) for layer, width in enumerate(widths, 1) for unit in range(width)]
    heard = {
        "layer": [layer for layer, _ in units],
        "unit": [unit for _, unit in units],
        "is_silent": [False] * len(units),
    }
    pq.write_table(pa.table(heard), out / "neurons" / "part-00000.parquet")
    counts = {"activation_sample": 10, "neurons": sum(widths), "scored": 10}
    entries = {
        "ingest": {}, "topk": {"counts": counts, "identity": {"site": "hidden", "k": 3}}, "annotate": {},
        "mine": {"config": {"out": str(out), **mined}},
    }  # fmt: skip
    stages = {
        name: {"complete": True, "seconds": 0.0, "fingerprint": name, "counts": {}, "config": {}, **entry}
        | {"identity": {"method": STAGES[name].method, **entry.get("identity", {})}}  # type: ignore[dict-item]
        for name, entry in entries.items()
    }
    file = {"name": "activations/part-00000.parquet", "rows": 0, "bytes": path.stat().st_size, "fingerprint": "topk"}
    record = {"tool": TOOL, "schema_version": SCHEMA_VERSION, "stages": stages, "tables": {"activations": [file]}}
    (out / "run.json").write_text(json.dumps(record))
    return Run(str(out))


def test_up_to_some_number_all_neurons_are_taken_and_beyond_they_are_named() -> None:
    check_units((), Neurons((MOST_UNITS - 1, 1)), "mined")
    check_units(("1:0",), Neurons((MOST_UNITS, 1)), "mined")
    what = "--units is missing: the run has 65,537 neurons, and at most 65,536 are mined by default"
    with pytest.raises(InputError, match=what):
        check_units((), Neurons((MOST_UNITS, 1)), "mined")
    with pytest.raises(InputError, match="--units 3:0: there is no such neuron"):
        check_units(("1:0", "3:0"), Neurons((MOST_UNITS, 1)), "mined")


@pytest.mark.parametrize(
    ("units", "said"),
    [((), "--units is missing: the run has 65,538 neurons"), (("2:40000",), "--units 2:40000: there is no such")],
)
def test_mine_and_neighbours_refuse_before_they_begin(tmp_path: Path, units: tuple[str, ...], said: str) -> None:
    run = write_run(tmp_path, (MOST_UNITS // 2 + 1,) * 2)
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(InputError, match=said):
        mine.mine(MineConfig.model_validate({"out": str(tmp_path), "units": units}), run)
    config = CompareConfig.model_validate({"out": str(tmp_path), "units": units})
    with pytest.raises(InputError, match=said):
        compare.check(config, run, ("neighbours",))
    compare.check(config, run, ("groups",))
    assert (tmp_path / "run.json").read_bytes() == before


def test_parts_that_compare_all_neurons_refuse_a_run_of_which_some_were_mined(tmp_path: Path) -> None:
    run = write_run(tmp_path, (4, 4), units=["1:2"], k=5)
    config = CompareConfig.model_validate({"out": str(tmp_path)})
    for part in ("dimensions", "groups", "ablation"):
        with pytest.raises(
            InputError, match=f"--part {part}: compares all neurons, but atlas mine was .* --units"
        ) as e:
            compare.check(config, run, ("neighbours", part))
        assert str(e.value).endswith(f"run atlas mine --out {tmp_path} --redo")
    compare.check(config, run, ("neighbours", "diversity"))
