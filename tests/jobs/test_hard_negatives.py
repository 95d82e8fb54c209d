"""Hard negatives token by token: read once explain has chosen them, the same tables however that ran."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from jobs.explain import job as explain
from jobs.explain.job import ExplainConfig
from jobs.run_folder.run import Run
from jobs.show.printing import neuron_facts
from jobs.stage.shown import read_facts
from jobs.tokens import job as tokens
from jobs.tokens.job import TokensConfig
from ops.report.site import Site
from ops.schema import schema
from tests.jobs.in_process import InProcess, Stopped

KEY = ("layer", "unit", "pole", "rank", "sent_id")


def read(run: Path, table: str = "negative_tokens") -> list[dict[str, Any]]:
    return list(pq.read_table(run / table).to_pylist())


@pytest.fixture
def copy(explain_run: tuple[Path, Path], tmp_path: Path) -> Path:
    shutil.copytree(explain_run[0], tmp_path / "run")
    return tmp_path / "run"


def winners_alone(copy: Path, small_run: Path) -> None:
    """Let an explained run have the results of `tokens` from before it was explained."""
    record, before = (json.loads((run / "run.json").read_text()) for run in (copy, small_run))
    record["stages"]["tokens"] = before["stages"]["tokens"]
    for table in ("token_activations", "peaks"):
        record["tables"][table] = before["tables"][table]
        shutil.rmtree(copy / table)
        shutil.copytree(small_run / table, copy / table)
    del record["tables"]["negative_tokens"]
    shutil.rmtree(copy / "negative_tokens")
    (copy / "run.json").write_text(json.dumps(record))


def test_each_hard_negative_is_read_as_the_model_reads_it(explain_run: tuple[Path, Path]) -> None:
    from transformers import AutoModel, AutoTokenizer

    run, folder = explain_run
    assert pq.read_table(run / "negative_tokens").schema.equals(schema("negative_tokens"))
    rows, chosen = read(run), [row for row in read(run, "examples") if row["quantile"] is None]
    assert [[row[k] for k in KEY] for row in rows] == [[row[k] for k in KEY] for row in chosen]
    assert len(rows) > 20
    texts = {row["sent_id"]: row["text"] for row in read(run, "sentences")}
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    for row, example in zip(rows, chosen, strict=True):
        own = {"return_tensors": "pt", "return_offsets_mapping": True, "truncation": True, "max_length": 40}
        given = tokenizer(texts[row["sent_id"]], **own)
        spans = given.pop("offset_mapping")[0].tolist()
        with torch.inference_mode():
            states = model(**given, output_hidden_states=True).hidden_states
        assert row["tokens"] == tokenizer.convert_ids_to_tokens(given["input_ids"][0])
        assert row["starts"] == [None, *(start for start, _ in spans[1:-1]), None]
        np.testing.assert_allclose(row["activations"], states[row["layer"]][0, :, row["unit"]].numpy(), atol=1e-5)
        assert np.mean(np.float64(row["activations"])) == pytest.approx(example["activation"], abs=1e-5)
    counts = Run(str(run)).require("tokens")["counts"]
    assert (counts["negatives"], counts["activations_differ"]) == (len(rows), 0)
    assert counts["sentences"] == len({row["sent_id"] for row in (*rows, *read(run, "token_activations"))})


def test_explanations_that_come_later_let_everything_be_read_again(
    small_run: tuple[Path, Path],
    copy: Path,
    explain_run: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    winners_alone(copy, small_run[0])
    engine = InProcess(most=2)  # the choice of the pieces, and one of them
    monkeypatch.setattr("jobs.stage.runner.fan_out", engine)
    with pytest.raises(Stopped):
        tokens.JOB.run(TokensConfig(out=str(copy), workers=1))
    assert "tokens: everything is read again, with the results of explain" in capsys.readouterr().err
    assert read(copy, "token_activations") == read(small_run[0], "token_activations"), "they stay until all is read"
    assert not (copy / "negative_tokens").exists()
    engine.most = None
    tokens.JOB.run(TokensConfig(out=str(copy), workers=1))
    said = capsys.readouterr().err
    assert "tokens: read: 1 of" in said
    assert "pieces were already done" in said
    for table in ("negative_tokens", "token_activations", "peaks"):
        assert read(copy, table) == read(explain_run[0], table)
    assert not (copy / "_partials" / "tokens").exists()
    tokens.JOB.run(TokensConfig(out=str(copy), workers=1))
    assert f"tokens: already done, {len(read(copy, 'token_activations')):,} winners" in capsys.readouterr().err


def test_unfinished_work_without_explanations_is_not_resumed_with_them(
    small_run: tuple[Path, Path], copy: Path, explain_run: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    winners_alone(copy, small_run[0])
    record = json.loads((copy / "run.json").read_text())
    entry = record["stages"].pop("tokens")
    del record["tables"]["token_activations"], record["tables"]["peaks"]
    record["stages"]["tokens"] = {**entry, "complete": False}
    (copy / "run.json").write_text(json.dumps(record))
    tokens.JOB.run(TokensConfig(out=str(copy), workers=1))
    for table in ("negative_tokens", "token_activations", "peaks"):
        assert read(copy, table) == read(explain_run[0], table)


def test_other_explanations_drop_what_was_read_with_the_previous_ones(
    copy: Path, explain_run: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.stage.runner.fan_out", InProcess(most=2))
    with pytest.raises(Stopped):
        tokens.JOB.run(TokensConfig(out=str(copy), workers=1, redo=True))
    monkeypatch.setattr("jobs.stage.runner.fan_out", InProcess())
    explain.JOB.run(ExplainConfig(out=str(copy), workers=1, units=("1:0", "1:3"), redo=True))
    assert not any((copy / table).exists() for table in ("negative_tokens", "token_activations", "_partials/tokens"))
    tokens.JOB.run(TokensConfig(out=str(copy), workers=1))
    rows = read(copy)
    assert {row["unit"] for row in rows} == {0, 3}
    assert len(rows) < len(read(explain_run[0]))
    chosen = [row for row in read(copy, "examples") if row["quantile"] is None]
    assert [[row[k] for k in KEY] for row in rows] == [[row[k] for k in KEY] for row in chosen]


def test_winners_that_were_read_without_explanations_stay_when_there_are_some(
    small_run: tuple[Path, Path], copy: Path
) -> None:
    winners_alone(copy, small_run[0])
    explain.JOB.run(ExplainConfig(out=str(copy), workers=1, units=("1:0", "1:3"), redo=True))
    assert read(copy, "token_activations") == read(small_run[0], "token_activations")
    assert Run(str(copy)).complete("tokens")


def test_no_hard_negative_is_an_empty_table(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.tokens.winners.read_parts", lambda *args: [])
    tokens.JOB.run(TokensConfig(out=str(copy), workers=1, redo=True))
    assert read(copy) == []
    assert pq.read_table(copy / "negative_tokens").schema.equals(schema("negative_tokens"))
    assert Run(str(copy)).require("tokens")["counts"]["negatives"] == 0


def test_without_explanations_or_with_older_ones_only_winners_are_read(
    small_run: tuple[Path, Path], copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not (small_run[0] / "negative_tokens").exists()
    assert Run(str(small_run[0])).require("tokens")["counts"]["negatives"] == 0
    tokens.JOB.run(TokensConfig(out=str(small_run[0]), workers=1))
    assert "negatives" not in capsys.readouterr().err
    record = json.loads((copy / "run.json").read_text())
    record["stages"]["explain"]["identity"]["method"] = 2
    (copy / "run.json").write_text(json.dumps(record))
    tokens.JOB.run(TokensConfig(out=str(copy), workers=1, redo=True))
    assert "its hard negatives are not read; to choose them again, run atlas explain --out" in capsys.readouterr().err
    assert not (copy / "negative_tokens").exists()
    assert read(copy, "token_activations") == read(small_run[0], "token_activations")


def test_a_dry_run_lists_them_and_what_would_be_dropped(
    small_run: tuple[Path, Path], copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (copy / "run.json").read_bytes()
    tokens.JOB.run(TokensConfig(out=str(copy), workers=1, redo=True, dry_run=True))
    assert "write   token_activations/ peaks/ negative_tokens/" in capsys.readouterr().out
    explain.JOB.run(ExplainConfig(out=str(copy), workers=1, redo=True, dry_run=True))
    assert "drop    existing tables of explain, tokens" in capsys.readouterr().out
    assert (copy / "run.json").read_bytes() == before
    winners_alone(copy, small_run[0])
    explain.JOB.run(ExplainConfig(out=str(copy), workers=1, redo=True, dry_run=True))
    assert "drop    existing tables of explain\n" in capsys.readouterr().out
    tokens.JOB.run(TokensConfig(out=str(copy), workers=1, dry_run=True))
    assert "drop    existing tables of tokens\n" in capsys.readouterr().out
    tokens.JOB.run(TokensConfig(out=str(small_run[0]), workers=1, redo=True, dry_run=True))
    assert "write   token_activations/ peaks/\n" in capsys.readouterr().out


def test_pages_and_show_list_them_with_the_tokens_that_the_run_has(copy: Path) -> None:
    verdicts = {(row["layer"], row["unit"], row["pole"]): row["verdict"] for row in read(copy, "explanations")}
    rows = read(copy)
    layer, unit, pole = next(named for row in rows if verdicts[named := tuple(row[k] for k in KEY[:3])] != "none")
    own = [row for row in rows if tuple(row[k] for k in KEY[:3]) == (layer, unit, pole)]

    def shown() -> list[dict[str, Any]]:
        run = Run(str(copy))
        known = read_facts(run)
        facts = neuron_facts(known, (layer, unit), pole, 3)
        (page,) = Site(known, run.record, written="", winners=5).neurons([(layer, unit)])
        (of_pole,) = [one for one in page["poles"] if one["pole"] == pole]
        listed = [(row["rank"], row["sent_id"]) for row in of_pole["negatives"]]
        assert listed == [(row["rank"], row["sent_id"]) for row in facts.hard_negatives]
        return list(of_pole["negatives"])

    found = shown()
    assert [(row["rank"], row["sent_id"]) for row in found] == [(row["rank"], row["sent_id"]) for row in own]
    for row, tokens_of_it in zip(found, own, strict=True):
        values = {piece.value for piece in row["pieces"]} - {None}
        assert values
        assert values <= set(tokens_of_it["activations"])
    record = json.loads((copy / "run.json").read_text())
    del record["tables"]["negative_tokens"]
    (copy / "run.json").write_text(json.dumps(record))
    without = shown()
    assert [row["sent_id"] for row in without] == [row["sent_id"] for row in own]
    assert {piece.value for row in without for piece in row["pieces"]} == {None}
