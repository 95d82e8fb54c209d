"""The part `matches` of `compare`: the most similar unit of another run, computed once, and wrong calls."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from jobs.compare import job as compare
from jobs.run_folder.run import Run
from ops.errors import InputError
from tests.jobs.finished_runs.compare import compare_config
from tests.jobs.test_compare_runs import changed, with_option, without


def config(out: Path, other: Path, **more: Any) -> Any:
    return compare_config(out, **{"part": ("matches",), "with_": str(other), **more})


def test_a_copy_of_the_run_is_matched_unit_by_unit(compare_run: tuple[Path, Path]) -> None:
    rows = pq.read_table(compare_run[0] / "compare/matches").to_pylist()
    assert len(rows) == 24
    for row in rows:
        assert (row["layer_b"], row["unit_b"], row["overlap"]) == (row["layer"], row["unit"], 1)
        assert row["correlation"] == pytest.approx(1, abs=1e-5)
        assert row["excess"] == pytest.approx(1 - row["rotated"], abs=1e-5)
    entry = Run(str(compare_run[0])).require("compare/matches")
    assert entry["counts"]["sentences"] == Run(str(compare_run[0])).require("topk")["counts"]["activation_sample"]


def test_it_is_done_once_by_any_workers_and_notices_another_run(
    compare_run: tuple[Path, Path], control_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    shutil.copytree(compare_run[0], out)
    compare.JOB.run(config(out, control_run))
    assert "compare/matches: already done, 24 rows" in capsys.readouterr().err

    def another(record: dict[str, Any]) -> None:
        record["stages"]["topk"]["fingerprint"] = "another"

    other = changed(control_run, tmp_path / "other", another)
    with pytest.raises(InputError, match=r"other topk \(was .*, is another\).*--redo"):
        compare.JOB.run(config(out, other))
    before = pq.read_table(out / "compare/matches")
    compare.JOB.run(config(out, other, redo=True, workers=2))
    assert pq.read_table(out / "compare/matches").equals(before)


def test_a_run_that_cannot_be_matched_is_refused_in_one_line(
    small_run: tuple[Path, Path], control_run: Path, tmp_path: Path
) -> None:
    """`--against-run` is refused for more reasons; what both read is checked in one place."""
    wrong = {
        "another corpus: limit": with_option("ingest", "limit", 7),
        "pool": with_option("topk", "pool", "max"),
        "topk/ is missing": without("topk"),
    }
    for i, (message, change) in enumerate(wrong.items()):
        with pytest.raises(InputError, match=f"^--with .*{message}"):
            compare.JOB.run(config(small_run[0], changed(control_run, tmp_path / str(i), change)))
