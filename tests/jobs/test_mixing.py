"""The job `mixing`: the same tables however it ran, counts that add up, and wrong calls."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from transformers import AlbertConfig, GPT2Config

from jobs.mixing import job as mixing
from jobs.mixing.job import MixingConfig
from jobs.mixing.steps import MixingArgs, MixingWorker, check, prepare_shard
from jobs.run_folder.publish import under
from jobs.run_folder.run import Run
from jobs.stage.corpus_pass import kept_tokens
from jobs.stage.outputs import read_partial, shard_file
from ops.errors import InputError
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer
from tests.jobs.finished_runs.mixing import mixing_config as config

pytestmark = pytest.mark.usefixtures("blank_figures")
TABLES = ("mixing/ratios", "mixing/lengths", "mixing/norms", "mixing/tokens")


@pytest.fixture
def whole(mixing_run: tuple[Path, Path]) -> Path:
    return mixing_run[0]


@pytest.fixture
def model(mixing_run: tuple[Path, Path]) -> Path:
    return mixing_run[1]


def same(a: Path, b: Path) -> bool:
    return all(pq.read_table(a / t).equals(pq.read_table(b / t)) for t in TABLES)


def test_the_tables_and_counts_add_up(whole: Path) -> None:
    counts = Run(str(whole)).require("mixing")["counts"]
    assert counts["scored"] == counts["sequences"] == pq.read_table(whole / "corpus").num_rows
    (cut,) = (a["truncated"] for a in Run(str(whole)).require("ingest")["counts"]["sources"])
    assert counts["unscored"] == 0
    assert counts["truncated"] == cut > 0
    read = f"read_parquet('{whole}/mixing/%s/*.parquet')"
    (tokens, masked, sentences, first) = duckdb.sql(
        f"""select count(*), count(*) filter (token = '[MASK]'), count(distinct sent_id),
        count(*) filter (position = 0 and token = '[CLS]') from {read % "tokens"} where layer = 2"""
    ).fetchall()[0]
    assert (tokens, masked) == (counts["tokens"], counts["masked"])
    assert sentences == first == counts["sequences"]
    assert masked / (tokens - 2 * sentences) == pytest.approx(0.12, rel=0.1)
    rows = duckdb.sql(
        f"""select token_class, r.n, r.mean, t.n, t.mean from {read % "ratios"} r join (
          select layer, case token when '[CLS]' then 'cls' when '[SEP]' then 'sep' when '[MASK]' then 'mask'
          when '.' then 'punct' when ',' then 'punct' else 'other' end as token_class, count(*) as n,
          avg(attn_res_ln) as mean from {read % "tokens"} group by all) t using (layer, token_class)
        where stage = 'attn_res_ln'"""
    ).fetchall()
    assert len(rows) == 2 * 5
    for name, n, mean, n_tokens, mean_tokens in rows:
        assert n == n_tokens, name
        assert mean == pytest.approx(mean_tokens, rel=1e-5)
    lengths = duckdb.sql(f"select sum(n), max(length) from {read % 'lengths'} where layer = 1 and stage = 'attn'")
    assert lengths.fetchall() == [(counts["tokens"], 40)]
    assert len(counts["figures"]) == 4 * 3
    for name in counts["figures"]:
        assert (whole / name).stat().st_size > 10_000


def test_one_worker_and_lost_partials_give_the_same_bits(
    tmp_path: Path, whole: Path, source: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    partials = sorted((out / "_partials" / "mixing").glob("*.parquet"))
    for path in partials[::3]:
        path.unlink()
    partials[1].write_bytes(partials[1].read_bytes()[:-30])
    record = json.loads((out / "run.json").read_text())
    record["stages"]["mixing"]["complete"] = False
    (out / "run.json").write_text(json.dumps(record))
    # Tables are kept there until all of them are complete.
    shutil.move(out / "mixing", out / under("mixing") / "mixing")
    mixing.JOB.run(config(out, source, model, workers=1))
    left = len(partials) - len(partials[::3]) - 1
    assert f"{left} of {len(partials)} shards were already done" in capsys.readouterr().err
    assert same(out, whole)
    assert not (out / "_partials" / "mixing").exists()
    mixing.JOB.run(config(out, source, model))
    assert "mixing: already done, 360 sentences scored" in capsys.readouterr().err


def test_packed_sequences(tmp_path: Path, source: Path, model: Path) -> None:
    out = tmp_path / "run"
    mixing.JOB.run(config(out, source, model, pack=38, workers=1, shard_size=400))
    counts = Run(str(out)).require("mixing")["counts"]
    assert counts["scored"] == 360 > counts["sequences"]
    corpus = {r["sent_id"]: r for r in pq.read_table(out / "corpus").to_pylist()}
    tokens = pq.read_table(out / "mixing/tokens").to_pylist()
    sequences: dict[int, list[str]] = {}
    for row in tokens:
        if row["layer"] == 1:
            assert row["position"] == len(sequences.setdefault(row["sent_id"], []))
            sequences[row["sent_id"]].append(row["token"])
    firsts = [*sorted(sequences), 360]
    several = 0
    for first, stop in pairwise(firsts):
        own = [corpus[i] for i in range(first, stop)]
        assert len({row["doc_id"] for row in own}) == 1
        assert len(sequences[first]) == sum(row["n_tokens"] - 2 for row in own) + 2
        assert len(own) == 1 or len(sequences[first]) <= 38
        assert "[MASK]" in sequences[first], "one at least is masked where sequences are packed"
        several += len(own) > 1
    assert several > 20


def test_a_sample_s_sentences_are_measured_as_in_the_whole_corpus(tmp_path: Path, whole: Path, model: Path) -> None:
    out = tmp_path / "copy"
    shutil.copytree(whole, out)
    own = {"out": str(out), "model": str(model), "workers": 1, "per_token": True, "token_budget": 256, "sentences": 9}
    with pytest.raises(InputError, match=r"sentences \(was not given, is 9\)"):
        mixing.JOB.run(MixingConfig.model_validate(own))
    mixing.JOB.run(MixingConfig.model_validate({**own, "redo": True}))
    entry = Run(str(out)).require("mixing")
    assert (entry["identity"]["sentences"], entry["counts"]["scored"], entry["counts"]["sequences"]) == (9, 9, 9)
    rows = pq.read_table(out / "mixing/tokens").to_pylist()
    drawn = {row["sent_id"] for row in rows}
    assert len(drawn) == 9
    assert max(drawn) > 180 > min(drawn), "a sample of the whole corpus"
    every = {(r["sent_id"], r["layer"], r["position"]): r for r in pq.read_table(whole / "mixing/tokens").to_pylist()}
    assert len(rows) == sum(key[0] in drawn for key in every)
    for row in rows:
        same_token = every[row["sent_id"], row["layer"], row["position"]]
        assert row["token"] == same_token["token"]
        assert row["attn_res_ln"] == pytest.approx(same_token["attn_res_ln"], abs=1e-4)
    mixing.JOB.run(MixingConfig.model_validate({**own, "redo": True, "pack": 38, "sentences": 60}))
    counts = Run(str(out)).require("mixing")["counts"]
    assert counts["scored"] == 60 > counts["sequences"]


def test_a_decoder_has_two_stages(tmp_path: Path, source: Path, make_model: Callable[..., Path]) -> None:
    sizes = {"n_embd": 12, "n_layer": 2, "n_head": 2, "n_inner": 20, "n_positions": 40, "vocab_size": 30522}
    folder = make_model(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    out = tmp_path / "run"
    mixing.JOB.run(config(out, source, folder, mask_rate=0, workers=1, shard_size=400))
    assert Run(str(out)).require("mixing")["counts"]["stages"] == ["attn", "attn_res"]
    tokens = pq.read_table(out / "mixing/tokens")
    assert tokens["attn_res_ln"].null_count == tokens.num_rows
    assert Run(str(out)).require("mixing")["counts"]["masked"] == 0
    found = duckdb.sql(f"select distinct stage from '{out}/mixing/ratios/*.parquet' order by 1").fetchall()
    assert found == [("attn",), ("attn_res",)]


def test_what_does_not_fit_is_refused(
    tmp_path: Path, source: Path, model: Path, make_model: Callable[..., Path]
) -> None:
    out = tmp_path / "run"
    with pytest.raises(InputError, match=r"--pack 41: .* takes 40 tokens at most"):
        mixing.JOB.run(config(out, source, model, pack=41))
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    albert = make_model(AlbertConfig(vocab_size=30522, embedding_size=8, **sizes))
    with pytest.raises(
        InputError, match=f"--model {albert}: is an albert, whose attention modules are unknown; give one of bert"
    ):
        mixing.JOB.run(config(out, source, albert))
    assert not out.exists()
    facts = read_facts(str(model))
    unmasked: Any = SimpleNamespace(mask_id=None)
    with pytest.raises(InputError, match=r"--mask-rate 0\.12: .* has no mask token; give --mask-rate 0"):
        check(config(out, source, model), facts, unmasked)
    check(config(out, source, model, mask_rate=0), facts, unmasked)
    assert Tokenizer(facts).mask_id == 103


def test_other_options_are_refused_and_a_new_corpus_drops_the_stage(whole: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    shutil.copytree(whole, out)
    own = {"out": str(out), "model": str(model), "workers": 2, "per_token": True, "token_budget": 256}
    for change in ({"pack": 30}, {"mask_rate": 0.5}, {"per_token": False}, {"seed": 1}):
        (name,) = change
        with pytest.raises(InputError, match=rf"{name} \(was .*--redo"):
            mixing.JOB.run(MixingConfig.model_validate({**own, **change}))
    anew = Run(str(out))
    anew.begin("ingest", {"another": "corpus"}, {}, redo=True)
    anew.finish("ingest", {}, 0.0)
    anew.release()
    assert not list(out.rglob("*.parquet"))
    assert not list(out.rglob("*.png"))


def test_reading_apart_as_with_gpus_gives_the_same_partial_files(whole: Path, model: Path) -> None:
    run = Run(str(whole))
    args = MixingArgs(
        store=run.store, facts=read_facts(str(model)), device="cpu", dtype="float32", threads=1, token_budget=256,
        seed=0, kept=kept_tokens(run), pack=0, mask_rate=0.12, per_token=False,
    )  # fmt: skip
    item = {"shard": 3, "place": 3, "span": [60, 80], "parts": [3], "rows": None, "sentences": 20}
    file = shard_file("mixing", 3)
    assert args.kept is not None
    for prepared in (None, prepare_shard(item, args), prepare_shard(item, replace(args, kept=None))):
        made = MixingWorker(args)(item, prepared)
        assert made[file].table.equals(read_partial(run.store, file))
