"""The command that a message gives to repeat a stage leads to the previous options."""

import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from jobs.annotate.job import AnnotateConfig
from jobs.compare.job import CompareConfig
from jobs.compare.steps import check
from jobs.finetune.job import FinetuneConfig
from jobs.ingest import job as ingest
from jobs.ingest.job import IngestConfig
from jobs.meaning.job import MeaningConfig
from jobs.mine.job import MineConfig
from jobs.options.command_line import parse
from jobs.options.configs import without_ingest
from jobs.report.job import ReportConfig
from jobs.run_folder.again import command
from jobs.run_folder.run import Run
from jobs.topk.job import TopkConfig

CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("ingest", IngestConfig, {"corpus": ("x y.txt", "n=*.csv", "it's $1.txt"), "limit": 5, "near_dedup": 0.8}),
    ("ingest", IngestConfig, {"preset": "small", "corpus": ("pydocs",), "shard_size": 2_000, "model": "other"}),
    ("topk", TopkConfig, {"preset": "small", "k": 100, "model": "m", "activation_sample": 0, "no_sharing": True}),
    ("topk", TopkConfig, {"model": "random:a b", "model_seed": 0}),
    ("compare/shift", CompareConfig, {"part": ("shift",), "against": "random:m", "model_seed": 5}),
    ("compare/matches", CompareConfig, {"part": ("matches",), "with_": "runs/a b"}),
    ("annotate", AnnotateConfig, {"out": "s3://b/run", "baseline_size": 0, "workers": 2}),
    ("finetune", FinetuneConfig, {"label": "-x", "drop_label": ("a", "-b"), "learning_rate": 1e-7, "split_seed": 1}),
    ("compare/groups", CompareConfig, {"part": ("groups",), "group_range": (2, 3), "figure_units": "1:2"}),
    ("meaning/counts", MeaningConfig, {"parts": "counts", "window": 3}),
    ("mine", MineConfig, {"units": ("1:2", "3:4")}),
]


@pytest.mark.parametrize(("stage", "kind", "options"), CASES)
def test_the_command_is_read_as_the_recorded_options(stage: str, kind: Any, options: dict[str, Any]) -> None:
    config = kind.model_validate({"out": "a b", "seed": 3, **options})
    words = shlex.split(command(config.out, stage, config.model_dump(mode="json"), redo=True))
    assert words[:2] == ["atlas", stage.partition("/")[0]]
    found = parse(kind, "", "", words[2:])
    assert found == config.model_copy(update={"redo": True, "preset": None})


def test_a_part_is_repeated_alone_and_a_report_has_no_redo() -> None:
    assert command("x", "compare/groups", CompareConfig.model_validate({}).model_dump(mode="json")).endswith(
        "--out x --part groups"
    )
    assert command("x", "meaning/hashing", MeaningConfig.model_validate({}).model_dump(mode="json")).endswith(
        "--parts hashing"
    )
    report = ReportConfig.model_validate({"out": "x", "best": 3, "neurons": ("1:2",)}).model_dump(mode="json")
    assert command("x", "report", report, redo=True) == "atlas report --out x --best 3 --neurons 1:2"


def test_the_options_of_ingest_are_of_ingest_alone() -> None:
    config = FinetuneConfig.model_validate({"out": "x", "corpus": ("a.txt",), "limit": 5, "label": "y"})
    assert command("x", "finetune", config.model_dump(mode="json")) == (
        "atlas finetune --out x --model sample --label y"
    )
    assert "limit" not in without_ingest(config)


def test_hints_name_the_options_of_the_run(small_run: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    out, model = small_run
    record = Run(str(out))
    options = (
        f"--out {out} --redo --workers 2 --device cpu --token-budget 2048 --model {model} --k 40 --k-per-dataset 10"
    )
    topk = record.require("topk")
    assert command(str(out), "topk", topk["config"], redo=True).startswith(f"atlas topk {options}")
    monkeypatch.setitem(topk["counts"], "activation_sample", 2)
    with pytest.raises(ValueError, match="its activation sample holds 2 sentences") as found:
        check(CompareConfig.model_validate({"out": str(out)}), record, ("neighbours",))
    assert str(found.value).endswith(f"run atlas topk {options} --activation-sample 1000")
    monkeypatch.setitem(record.record["stages"], "topk", {**topk, "complete": False})
    with pytest.raises(ValueError, match="topk is not complete") as found:
        record.require("topk")
    assert str(found.value).endswith(f"run atlas topk {options.replace(' --redo', '')} --activation-sample 50")
    monkeypatch.delitem(record.record["stages"], "topk")
    with pytest.raises(ValueError, match="topk/ is missing") as found:
        record.require("topk")
    assert str(found.value).endswith(f"run atlas topk --out {out} --model {model}")


def test_hints_name_the_options_of_results_that_were_dropped(
    small_run: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A corpus that is read again drops everything made from it, but not how it was made."""
    out = shutil.copytree(small_run[0], tmp_path / "run")
    record = Run(str(out))
    before = {name: command(str(out), name, record.require(name)["config"]) for name in ("topk", "annotate", "mine")}
    assert "--k 40" in before["topk"]
    corpus = record.require("ingest")["config"]
    ingest.JOB.run(IngestConfig.model_validate({**corpus, "out": str(out), "limit": 200, "redo": True}))
    record = Run(str(out))
    for name, expected in before.items():
        with pytest.raises(ValueError, match="is missing; run atlas") as found:
            record.require(name)
        assert str(found.value).endswith(f"run {expected}")


def test_hints_of_stages_that_never_ran_name_the_options_of_those_that_they_read(
    small_run: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Run(str(small_run[0]))
    mine = record.require("mine")
    config = {**mine["config"], "units": ["1:2", "2:0"], "seed": 7}
    monkeypatch.setitem(record.record["stages"], "mine", {**mine, "config": config})
    with pytest.raises(ValueError, match="explanations/ is missing") as found:
        record.require("explain")
    assert "--seed 7 --units 1:2 --units 2:0" in str(found.value)
