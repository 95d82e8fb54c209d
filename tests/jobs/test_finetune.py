"""The job `finetune`: its split, its tables, the same model however it ran, and wrong calls; no Ray is started."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModel

from jobs.finetune import job as finetune
from jobs.finetune.job import FinetuneConfig
from jobs.finetune.steps import Trainer
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from ops.errors import InputError
from ops.model.load import read_facts
from ops.schema import TABLES
from tests.jobs.finished_runs.finetune import finetune_config as config
from tests.jobs.in_process import InProcess

WEIGHTS = "finetune/model/model.safetensors"


def read(out: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(out / table).to_pylist()
    return rows


def test_documents_are_split_whole_with_no_text_on_both_sides(finetune_run: tuple[Path, Path]) -> None:
    tuned, _ = finetune_run
    for name in ("train", "test", "epochs", "labels"):
        assert pq.read_table(tuned / "finetune" / name).schema.equals(TABLES[f"finetune/{name}"].arrow), name
    train, test = read(tuned, "finetune/train"), read(tuned, "finetune/test")
    sides = [{row["doc_id"] for row in rows} for rows in (train, test)]
    assert sides[0] | sides[1] == {f"d{i}" for i in range(40)}
    assert not sides[0] & sides[1]
    assert len(sides[1]) == 8
    assert not {r["text"].casefold() for r in train} & {r["text"].casefold() for r in test}
    assert all(row["trained_as"] == row["label"] == "ab"[int(row["doc_id"][1:]) % 2] for row in train)
    counts = Run(str(tuned)).require("finetune")["counts"]
    assert (counts["train"], counts["test"], counts["labels"], counts["copies"]) == (32, 8, 2, 1)
    assert counts["left_out"] == {
        "several labels": 1, "label dropped": 0, "not sampled": 0, "label too rare": 1, "sentences without a label": 1,
    }  # fmt: skip


def test_the_tables_and_the_record_say_what_was_trained(finetune_run: tuple[Path, Path]) -> None:
    tuned, model = finetune_run
    entry = Run(str(tuned)).require("finetune")
    assert entry["config"]["seed"] == entry["identity"]["split_seed"] == 0
    assert entry["model"]["fingerprint"] == read_facts(str(model)).fingerprint
    epochs, labels = read(tuned, "finetune/epochs"), read(tuned, "finetune/labels")
    assert [(row["epoch"], row["steps"], row["n"]) for row in epochs] == [(1, 4, 8), (2, 8, 8)]
    assert epochs[-1]["test_accuracy"] == sum(row["correct"] for row in labels) / 8
    assert epochs[0]["majority_accuracy"] == 0.5
    assert [(row["label"], row["train"], row["test"]) for row in labels] == [("a", 16, 4), ("b", 16, 4)]
    before, after = (AutoModel.from_pretrained(folder) for folder in (model, tuned / "finetune/model"))
    changed = [n for n, p in after.named_parameters() if not p.equal(before.get_parameter(n))]
    assert any("layer.0" in name for name in changed)
    for name in entry["counts"]["figures"]:
        assert (tuned / name).stat().st_size > 5_000
    assert not [path for path in (tuned / "_partials").rglob("*") if path.is_file()]


@pytest.mark.slow
def test_the_same_model_whatever_the_checkpoints_and_another_by_another_seed(
    finetune_run: tuple[Path, Path], labelled: Path, tmp_path: Path
) -> None:
    tuned, model = finetune_run
    shutil.copytree(tuned, tmp_path / "run")
    with pytest.raises(InputError, match=r"checkpoint_steps \(was 3, is 100\); name another --out, or --redo"):
        finetune.JOB.run(config(tmp_path / "run", labelled, model, checkpoint_steps=100))
    finetune.JOB.run(config(tmp_path / "run", labelled, model, checkpoint_steps=100, redo=True))
    assert (tmp_path / "run" / WEIGHTS).read_bytes() == (tuned / WEIGHTS).read_bytes()
    finetune.JOB.run(config(tmp_path / "run", None, model, seed=1, redo=True))
    assert (tmp_path / "run" / WEIGHTS).read_bytes() != (tuned / WEIGHTS).read_bytes()
    assert read(tmp_path / "run", "finetune/train") == read(tuned, "finetune/train")


@pytest.mark.slow
def test_shuffled_labels_are_the_training_s_alone(
    finetune_run: tuple[Path, Path], labelled: Path, tmp_path: Path
) -> None:
    tuned, model = finetune_run
    shutil.copytree(tuned, tmp_path / "run")
    finetune.JOB.run(config(tmp_path / "run", labelled, model, shuffle_labels=True, redo=True))
    train, before = (read(out, "finetune/train") for out in (tmp_path / "run", tuned))
    assert [row["label"] for row in train] == [row["label"] for row in before]
    documents = {row["doc_id"]: row["trained_as"] for row in train}
    assert sorted(documents.values()) == ["a"] * 16 + ["b"] * 16
    assert any(row["trained_as"] != row["label"] for row in train)
    assert read(tmp_path / "run", "finetune/test") == read(tuned, "finetune/test")


@pytest.mark.slow
def test_the_same_model_in_whatever_order_items_are_done(
    finetune_run: tuple[Path, Path], labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned, model = finetune_run
    shutil.copytree(tuned, tmp_path / "run")
    trained, train, engine = [], Trainer.train, InProcess()

    def watched(self: Trainer, before: int, stop: int, epoch: int) -> pa.Table:
        trained.append((before, stop))
        return train(self, before, stop, epoch)

    monkeypatch.setattr(Trainer, "train", watched)
    monkeypatch.setattr("jobs.stage.runner.fan_out", lambda items, *args, **more: engine(items[::-1], *args, **more))
    finetune.JOB.run(config(tmp_path / "run", labelled, model, redo=True, keep_partials=True))
    assert trained == [(0, 3), (3, 4), (4, 7), (7, 8)]
    assert (tmp_path / "run" / WEIGHTS).read_bytes() == (tuned / WEIGHTS).read_bytes()
    assert read(tmp_path / "run", "finetune/epochs") == read(tuned, "finetune/epochs")
    assert len(list((tmp_path / "run" / STAGES["finetune"].partials).glob("checkpoint-*.tar"))) == 2


def test_wrong_calls_are_one_line_and_leave_the_run_alone(
    finetune_run: tuple[Path, Path], labelled: Path, tmp_path: Path
) -> None:
    tuned, model = finetune_run
    before = (tuned / "run.json").read_bytes()
    cases: dict[str, dict[str, Any]] = {
        "--label is missing: name the column": {"label": ""},
        "--label none: the corpus has no such column, or no value in it (86 sentences); it has one, topic": {
            "label": "none"
        },
        "--label one: 1 label (x) with at least 2 documents": {"label": "one", "redo": True},
        "--drop-label z: no document has this value of topic; it has a, b, c": {"drop_label": ("z",), "redo": True},
        "--label topic: 1 label (b)": {"drop_label": ("a",), "redo": True},
        "--max-tokens 99: ": {"max_tokens": 99},
        "finetune was run with other options: epochs (was 2, is 3)": {"epochs": 3},
        "--model no/such: ": {"model": "no/such"},
    }
    for message, options in cases.items():
        with pytest.raises(InputError) as error:
            finetune.JOB.run(config(tuned, labelled, options.pop("model", model), **options))
        assert message in str(error.value), message
    assert (tuned / "run.json").read_bytes() == before
    (tmp_path / "docs.csv").write_text("text,year\nA sentence of some words.,1999\n")
    with pytest.raises(InputError, match=r"--label topic: the corpus has no such column.*; it has year"):
        finetune.JOB.run(config(tmp_path / "new", tmp_path / "docs.csv", model))
    assert not (tmp_path / "new" / "corpus").exists(), "the sources were read before"
    with pytest.raises(InputError, match=r"corpus/ is missing; give --corpus, or run atlas ingest"):
        finetune.JOB.run(FinetuneConfig(out=str(tmp_path / "none"), label="topic", model=str(model)))


@pytest.mark.slow
def test_a_training_that_diverges_leaves_no_model(
    finetune_run: tuple[Path, Path], labelled: Path, tmp_path: Path, make_model: Callable[..., Path], small_bert: object
) -> None:
    _, model = finetune_run
    with pytest.raises(InputError, match=r"--learning-rate 1e\+14: .* is not finite"):
        finetune.JOB.run(config(tmp_path / "steep", labelled, model, learning_rate=1e14))

    def poison(network: torch.nn.Module) -> None:
        network.encoder.layer[1].output.dense.weight[0, 0] = torch.nan

    broken = make_model(small_bert, change=poison)
    with pytest.raises(InputError, match=r"its weights are not all finite \(encoder\.layer\.1\.output"):
        finetune.JOB.run(config(tmp_path / "broken", labelled, broken))
    for name in ("steep", "broken"):
        assert not (tmp_path / name / "finetune").exists()
    finetune.JOB.run(config(tmp_path / "steep", None, model))
    assert (tmp_path / "steep" / WEIGHTS).is_file()


def test_a_dry_run_says_what_is_missing(
    finetune_run: tuple[Path, Path], labelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tuned, model = finetune_run
    finetune.JOB.run(config(tmp_path / "new", labelled, model, dry_run=True))
    assert "split the labelled documents of the corpus" in capsys.readouterr().out
    assert not (tmp_path / "new" / "finetune").exists()
    finetune.JOB.run(config(tuned, labelled, model, dry_run=True))
    assert "finetune\n  already done: 32 documents trained on" in capsys.readouterr().out
    finetune.JOB.run(config(tuned, labelled, model, dry_run=True, redo=True, checkpoint_steps=2))
    said = capsys.readouterr().out
    assert "split about 41 documents of 2 labels in two" in said
    assert "train for 2 epochs of about 33 documents" in said
    assert "time    about" in said
