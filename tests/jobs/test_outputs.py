"""The job `outputs`: tables that follow from the model's weights, the same however it ran, and wrong calls."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from jobs.outputs import job as outputs
from jobs.run_folder.publish import under
from jobs.run_folder.run import Run
from jobs.topk import job as topk
from jobs.topk.job import TopkConfig
from ops.errors import InputError
from ops.outputs.names import SHOWN
from ops.sampling import OUTPUT_SENTENCES, draw
from ops.schema import TABLES
from tests.jobs.finished_runs.decoder import outputs_config as config
from tests.unit.dictionaries.made import weights, write

pytestmark = pytest.mark.usefixtures("blank_figures")
LAYERS, UNITS = 2, 20
PARTS = tuple(table for table in TABLES if table.startswith("outputs/"))


@pytest.fixture
def whole(outputs_run: tuple[Path, Path]) -> Path:
    return outputs_run[0]


@pytest.fixture
def copy(scored_gpt2: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(scored_gpt2[0], tmp_path / "run"))


def rows(run: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(run / table).to_pylist()
    return found


def same(a: Path, b: Path) -> bool:
    return all(pq.read_table(a / t).equals(pq.read_table(b / t)) for t in PARTS)


def test_the_logits_are_those_of_the_weights(outputs_run: tuple[Path, Path]) -> None:
    run, folder = outputs_run
    model: Any = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    corpus = {row["sent_id"]: row["text"] for row in rows(run, "corpus")}
    states = []
    for sent_id in draw(len(corpus), 120, 0, OUTPUT_SENTENCES).tolist():
        found = tokenizer(corpus[sent_id], truncation=True, max_length=40, return_special_tokens_mask=True)
        kept: list[torch.Tensor] = []
        handle = model.transformer.h[-1].register_forward_hook(
            lambda m, a, out, kept=kept: kept.append(out if isinstance(out, torch.Tensor) else out[0])
        )
        with torch.inference_mode():
            model(torch.tensor([found["input_ids"]]))
        handle.remove()
        own = [i for i, added in enumerate(found["special_tokens_mask"]) if not added and i]
        states.append(kept[0][0][own])
    mean = torch.cat(states).double().mean(0).float()
    std = {(row["layer"], row["unit"]): row["std"] for row in rows(run, "neurons")}
    told = {(row["layer"], row["unit"]): row for row in rows(run, "outputs/neurons")}
    assert set(told) == set(std)
    shown = rows(run, "outputs/tokens")
    assert len(shown) == LAYERS * UNITS * 2 * SHOWN
    for layer, unit in ((1, 0), (2, 17)):
        direction = model.transformer.h[layer - 1].mlp.c_proj.weight[unit] * std[layer, unit]
        _, logits = torch.func.jvp(lambda x: model.lm_head(model.transformer.ln_f(x)), (mean,), (direction,))
        change = logits.detach().double().numpy()
        row = told[layer, unit]
        assert row["mean"] == pytest.approx(change.mean(), rel=1e-3, abs=1e-6)
        assert row["std"] == pytest.approx(change.std(), rel=1e-3)
        own = model.transformer.h[layer - 1].mlp.c_proj.weight[unit].detach()
        assert row["norm"] == pytest.approx(float(own.norm()), rel=1e-5)
        read = model.transformer.h[layer - 1].mlp.c_fc.weight[:, unit].detach()
        assert row["cosine"] == pytest.approx(float(own @ read / own.norm() / read.norm()), abs=1e-5)
        for side, order in (("promoted", np.argsort(-change)), ("suppressed", np.argsort(change))):
            listed = [r for r in shown if (r["layer"], r["unit"], r["side"]) == (layer, unit, side)]
            assert [r["rank"] for r in listed] == list(range(1, SHOWN + 1))
            np.testing.assert_allclose([r["logit"] for r in listed], change[order[:SHOWN]], rtol=1e-3, atol=1e-5)
            assert [r["token"] for r in listed] == tokenizer.convert_ids_to_tokens([r["token_id"] for r in listed])
            assert len({r["token_id"] for r in listed} & set(order[: SHOWN + 2].tolist())) >= SHOWN - 1


def test_controls_and_checks_add_up(whole: Path) -> None:
    controls = {(r["layer"], r["basis"], r["measure"]): r for r in rows(whole, "outputs/controls")}
    assert len(controls) == LAYERS * 2 * 2
    told = rows(whole, "outputs/neurons")
    for layer in (1, 2):
        own = [r["kurtosis"] for r in told if r["layer"] == layer]
        row, null = (controls[layer, basis, "kurtosis"] for basis in ("units", "random"))
        assert (row["n"], null["n"]) == (UNITS, 40)
        assert row["q50"] == pytest.approx(np.median(own))
        assert row["beyond"] == np.mean(np.array(own) > null["q95"])
        assert null["beyond"] == pytest.approx(0.05, abs=0.03)
    checks = rows(whole, "outputs/checks")
    assert [r["layer"] for r in checks] == [1, 1, 1, 2, 2, 2]
    assert all(r["unit_b"] != r["unit"] and abs(r["correlation"]) <= 1 for r in checks)
    counts = Run(str(whole)).require("outputs")["counts"]
    assert (counts["neurons"], counts["checked"], counts["sentences"]) == (LAYERS * UNITS, 6, 120)
    # After the last layer nothing but the head follows: what differs is that it is not linear.
    last = [r for r in checks if r["layer"] == LAYERS]
    assert np.mean([r["correlation"] for r in last]) > 0.5 > np.mean([abs(r["shuffled"]) for r in last])
    for name in counts["figures"]:
        assert (whole / name).stat().st_size > 5_000
    for table in PARTS:
        found = pq.read_table(whole / table)
        assert found.equals(found.sort_by([(name, "ascending") for name in TABLES[table].order])), table


def test_one_worker_and_lost_partials_give_the_same_bits(
    copy: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs.JOB.run(config(copy, workers=1, keep_partials=True))
    assert same(copy, whole)
    assert "random directions do: " in capsys.readouterr().out
    partials = sorted((copy / "_partials" / "outputs").glob("*.parquet"))
    assert len(partials) >= 4 + LAYERS + 2
    for path in partials[::2]:
        path.unlink()
    record = json.loads((copy / "run.json").read_text())
    record["stages"]["outputs"]["complete"] = False
    (copy / "run.json").write_text(json.dumps(record))
    shutil.move(copy / "outputs", copy / under("outputs") / "outputs")
    next((copy / under("outputs") / "outputs" / "neurons").glob("*.parquet")).unlink()
    outputs.JOB.run(config(copy))
    assert same(copy, whole)
    assert not (copy / "_partials" / "outputs").exists()
    outputs.JOB.run(config(copy))
    assert "outputs: already done, 40 units" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"random \(was 40, is 50\)"):
        outputs.JOB.run(config(copy, random=50))


def test_some_units_alone(copy: Path, whole: Path) -> None:
    outputs.JOB.run(config(copy, units=("2:3", "1:19"), check=0, workers=1))
    told = {(r["layer"], r["unit"]): r for r in rows(whole, "outputs/neurons")}
    own = rows(copy, "outputs/neurons")
    assert [(r["layer"], r["unit"]) for r in own] == [(1, 19), (2, 3)]
    for row in own:
        assert row == pytest.approx(told[row["layer"], row["unit"]], rel=1e-3, abs=1e-5)
    assert not (copy / "outputs" / "checks").exists()


def scored(out: Path, source: Path, model: Path, **options: Any) -> Path:
    """The job topk with few sentences: its run directory."""
    small = {"k": 10, "shard_size": 100, "limit": 60, "activation_sample": 20, "workers": 1, "split": "none"}
    values = {"out": str(out), "corpus": (str(source),), "model": str(model), **small, **options}
    topk.JOB.run(TopkConfig.model_validate(values))
    return out


def test_features_write_rows_of_their_decoder(outputs_run: tuple[Path, Path], source: Path, tmp_path: Path) -> None:
    own = weights("standard", 12, 30)
    own["b_enc"][5] = -1e6  # active at no token
    folder = write(tmp_path / "sae", "standard", own, "blocks.0.hook_resid_post")
    run = scored(tmp_path / "run", source, outputs_run[1], dictionary=(f"1={folder}",))
    outputs.JOB.run(config(run, workers=1, check=4, sentences=40))
    told = {r["unit"]: r for r in rows(run, "outputs/neurons")}
    assert list(told) == list(range(30))
    norms = np.linalg.norm(own["W_dec"], axis=1)
    np.testing.assert_allclose([told[unit]["norm"] for unit in told], norms, rtol=1e-5)
    cosines = (own["W_dec"] * own["W_enc"].T).sum(1) / norms / np.linalg.norm(own["W_enc"], axis=0)
    np.testing.assert_allclose([told[unit]["cosine"] for unit in told], cosines, atol=1e-5)
    assert told[5]["std"] == 0
    assert told[5]["kurtosis"] is not None, "it writes, though it was never active"
    checks = rows(run, "outputs/checks")
    assert len(checks) == 4
    assert 5 not in {r["unit"] for r in checks}
    assert np.mean([r["correlation"] for r in checks]) > np.mean([abs(r["shuffled"]) for r in checks])


def test_a_dry_run_starts_nothing(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(path.name for path in copy.rglob("*"))
    outputs.JOB.run(config(copy, dry_run=True))
    said = capsys.readouterr().out
    assert "random directions: 2 of 2 layers" in said
    assert "outputs/checks" in said
    assert sorted(path.name for path in copy.rglob("*")) == before
