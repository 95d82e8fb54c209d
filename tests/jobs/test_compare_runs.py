"""The part `runs` of `compare`: a run's scores next to a control's, done once, and wrong calls."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from jobs.compare import job as compare
from jobs.run_folder.run import Run
from ops.errors import InputError
from ops.schema import TABLES
from tests.jobs.finished_runs.compare import compare_config

Change = Callable[[dict[str, Any]], None]


def config(out: Path, control: Path, **more: Any) -> Any:
    return compare_config(out, **{"part": ("runs",), "against_run": str(control), **more})


def changed(run: Path, to: Path, change: Change) -> Path:
    """Copy a run and change its record."""
    shutil.copytree(run, to)
    record = json.loads((to / "run.json").read_text())
    change(record)
    (to / "run.json").write_text(json.dumps(record))
    return to


def test_halved_scores_are_a_control_that_every_neuron_exceeds(
    compare_run: tuple[Path, Path], control_run: Path
) -> None:
    scores = {
        name: pq.read_table(out / "scores", schema=TABLES["scores"].arrow).to_pandas()
        for name, out in (("own", compare_run[0]), ("control", control_run))
    }
    rows = {
        row["layer"]: row
        for row in pq.read_table(compare_run[0] / "compare/runs").to_pylist()
        if row["measure"] == "auc"
    }
    assert set(rows) == {1, 2, None}
    for layer, row in rows.items():
        own, control = (
            (t if layer is None else t[t["layer"] == layer])["auc"].dropna().to_numpy() for t in scores.values()
        )
        assert (row["n"], row["control_n"]) == (len(own), len(control))
        limit = np.quantile(control, 0.95)
        found = [row[name] for name in ("mean", "control_median", "control_q95", "share_above")]
        np.testing.assert_allclose(found, [own.mean(), np.median(control), limit, (own > limit).mean()])
    about = Run(str(compare_run[0])).require("compare/runs")
    assert about["against_run"]["out"] == str(control_run)
    assert about["counts"]["tables"] == ["scores"]


def test_it_is_done_once_and_notices_another_control(
    compare_run: tuple[Path, Path], control_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    shutil.copytree(compare_run[0], out)
    compare.JOB.run(config(out, control_run))
    said = capsys.readouterr().err
    assert "compare/runs: already done" in said
    assert "skipped, because only one run has it: explanations" in said

    def another(record: dict[str, Any]) -> None:
        for file in record["tables"]["scores"]:
            file["fingerprint"] = "another"

    other = changed(control_run, tmp_path / "other", another)
    with pytest.raises(InputError, match=r"control scores \(was control, is another\).*--redo"):
        compare.JOB.run(config(out, other))
    before = pq.read_table(out / "compare/runs")
    compare.JOB.run(config(out, other, redo=True))
    assert pq.read_table(out / "compare/runs").equals(before), "the same values give the same rows"


def test_a_run_on_another_file_system_is_read(small_run: tuple[Path, Path], control_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(small_run[0], out)
    compare.JOB.run(config(out, Path("x"), against_run=f"file://{control_run}"))
    assert pq.read_table(out / "compare/runs").num_rows


def with_option(stage: str, option: str, value: Any) -> Change:
    def change(record: dict[str, Any]) -> None:
        for said in ("identity", "config"):
            record["stages"][stage][said][option] = value

    return change


def without(stage: str) -> Change:
    def change(record: dict[str, Any]) -> None:
        del record["stages"][stage]

    return change


def _without_scores(record: dict[str, Any]) -> None:
    del record["tables"]["scores"]


WRONG: dict[str, Change] = {
    r"has another corpus: limit \(here not given, there 7\)": with_option("ingest", "limit", 7),
    r"its topk was run with other options: pool \(here mean, there max\)": with_option("topk", "pool", "max"),
    r"its topk was run with other options: k \(here 40, there 7\)": with_option("topk", "k", 7),
    "has units of --site mlp, this run of hidden": with_option("topk", "site", "mlp"),
    r"its mine was run with other options: word_case \(here keep, there lower\)": with_option(
        "mine", "word_case", "lower"
    ),
    r"patterns/ is missing; run atlas mine": without("mine"),
    "no scores are in both runs": _without_scores,
}


def test_a_run_that_is_no_control_is_refused_in_one_line(
    small_run: tuple[Path, Path], control_run: Path, tmp_path: Path
) -> None:
    before = (small_run[0] / "run.json").read_bytes()
    for i, (message, change) in enumerate(WRONG.items()):
        other = changed(control_run, tmp_path / str(i), change)
        with pytest.raises(InputError, match=rf"^--against-run .*{message}.*$"):
            compare.JOB.run(config(small_run[0], other))
    assert (small_run[0] / "run.json").read_bytes() == before


def test_the_poles_that_both_runs_keep_are_compared(
    small_run: tuple[Path, Path], control_run: Path, tmp_path: Path
) -> None:
    def keeping(run: Path, poles: str) -> Path:
        return changed(run, tmp_path / f"{run.name} {poles}", with_option("topk", "poles", poles))

    out, other = keeping(small_run[0], "bottom"), keeping(control_run, "bottom")
    with pytest.raises(InputError, match=r"^--against-run .*: has no winners at the pole of this run; give a run with"):
        compare.JOB.run(config(out, keeping(control_run, "top")))
    compare.JOB.run(config(out, other))
    rows = {(row["measure"], row["layer"]): row["n"] for row in pq.read_table(out / "compare/runs").to_pylist()}
    scores = pq.read_table(out / "scores").to_pylist()
    assert rows["auc", None] == sum(row["pole"] == "bottom" and row["auc"] is not None for row in scores)


def test_the_same_run_and_no_run_are_refused(small_run: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(small_run[0], tmp_path / "copy")
    for same in (small_run[0], tmp_path / "copy"):
        with pytest.raises(InputError, match="holds the same results as this run; give one with random weights"):
            compare.JOB.run(config(small_run[0], same))
    with pytest.raises(InputError, match=r"--against-run .*nothing: there is no run here"):
        compare.JOB.run(config(small_run[0], tmp_path / "nothing"))
