"""The job `positions`: the same tables however it ran, what a plain computation gives, and wrong calls."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModel, LlamaConfig

from jobs.positions import job as positions
from jobs.positions.job import PositionsConfig
from jobs.positions.steps import PositionsArgs, PositionsWorker, prepare_shard
from jobs.run_folder.run import Run
from jobs.show import job as show
from jobs.show.job import ShowConfig
from jobs.stage.corpus_pass import kept_tokens
from jobs.stage.outputs import read_partial, shard_file
from ops.errors import InputError
from ops.figures.files import UNDATED
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer
from ops.positions.shard import merge_tables
from ops.positions.variants import DECODER_DEFAULTS
from ops.sampling import MEASURED, draw
from tests.jobs.finished_runs.decoder import positions_config as config

pytestmark = pytest.mark.usefixtures("blank_figures")
TABLES = tuple(
    f"positions/{name}"
    for name in ("similarity", "by_class", "by_position", "perplexity", "perplexity_by_position", "norms", "labels")
)


@pytest.fixture
def whole(positions_run: tuple[Path, Path]) -> Path:
    return positions_run[0]


@pytest.fixture
def model(positions_run: tuple[Path, Path]) -> Path:
    return positions_run[1]


def same(a: Path, b: Path) -> bool:
    return all(pq.read_table(a / t).equals(pq.read_table(b / t)) for t in TABLES)


def unfinished(out: Path) -> None:
    """Make a finished run look as if it had been killed before its tables were complete."""
    record = json.loads((out / "run.json").read_text())
    record["stages"]["positions"]["complete"] = False
    (out / "run.json").write_text(json.dumps(record))


def test_tables_and_counts_add_up(whole: Path) -> None:
    counts = Run(str(whole)).require("positions")["counts"]
    corpus = pq.read_table(whole / "corpus")
    assert counts["scored"] == corpus.num_rows == 160
    assert (counts["unscored"], counts["unpredicted"]) == (0, 0)
    assert counts["truncated"] > 0
    tokens = sum(corpus["n_tokens"].to_pylist())
    assert counts["tokens"] == tokens
    read = f"read_parquet('{whole}/positions/%s/*.parquet')"
    found = duckdb.sql(
        f"select variant, n from {read % 'similarity'} where layer = 2 and reference = 'default'"
    ).fetchall()
    assert dict(found) == dict.fromkeys(DECODER_DEFAULTS, tokens)
    for table, groups in (("by_class", "token_class"), ("by_position", "position")):
        rows = duckdb.sql(
            f"""select s.n, s.mean, sum(g.n), sum(g.n * g.mean) / sum(g.n), count(distinct {groups}),
            layer, variant, reference
            from {read % "similarity"} s join {read % table} g using (layer, variant, reference) group by all"""
        ).fetchall()
        assert len(rows) == 2 * len(DECODER_DEFAULTS) * 2
        for n, mean, n_groups, mean_groups, several, *_ in rows:
            assert n == n_groups
            assert mean == pytest.approx(mean_groups, abs=1e-6)
            assert several > 3
    by_position = duckdb.sql(
        f"""select p.variant, corpus, exp(sum(b.n * loss) / sum(b.n)), sum(b.n), p.n
        from {read % "perplexity"} p join {read % "perplexity_by_position"} b using (variant) group by all"""
    ).fetchall()
    assert {row[0] for row in by_position} == {"default", *DECODER_DEFAULTS}
    for _, corpus_ppl, from_positions, predicted, texts in by_position:
        assert corpus_ppl == pytest.approx(from_positions, rel=1e-5)
        assert (predicted, texts) == (tokens - 160, 160)
    same_mask = [
        [row[c] for row in pq.read_table(whole / "positions/perplexity").to_pylist() if row["variant"] == name]
        for name in ("none_additive_linear", "none_self_only")
        for c in ("corpus", "mean", "token_mean")
    ]
    assert same_mask[:3] == same_mask[3:]
    labels = {row["features"]: row for row in pq.read_table(whole / "positions/labels").to_pylist()}
    assert labels.keys() == {"default", *DECODER_DEFAULTS, "tokens", "majority"}
    assert {row["splits"] for row in labels.values()} == {20}
    for name in counts["figures"]:
        assert (whole / name).stat().st_size > 8_000
    assert len(counts["figures"]) == 6 * len(UNDATED)


def test_show_prints_the_main_table(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show.JOB.run(ShowConfig(out=str(whole), positions=True))
    said = capsys.readouterr().out
    assert "none_multiplicative_linear_raw" in said
    (row,) = duckdb.sql(
        f"""select mean from '{whole}/positions/similarity/*.parquet'
        where variant = 'none' and layer = 2 and reference = 'default'"""
    ).fetchall()
    (line,) = (words for words in map(str.split, said.splitlines()) if words[:2] == ["none", "2"])
    assert line[2] == f"{row[0]:.4f}"
    assert "Accuracy of a linear classifier of topic" in said
    with pytest.raises(InputError, match="--positions with --neuron: --positions prints a table of variants"):
        show.JOB.run(ShowConfig(out=str(whole), positions=True, neuron="1:0"))


@pytest.mark.slow
def test_lost_partials_and_one_worker_give_the_same_bits(
    tmp_path: Path, whole: Path, source: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(whole, out)
    partials = sorted((out / "_partials" / "positions").glob("shard-*.parquet"))
    for path in partials[::2]:
        path.unlink()
    partials[1].write_bytes(partials[1].read_bytes()[:-30])
    unfinished(out)
    shutil.rmtree(out / "positions")
    positions.JOB.run(config(out, source, model, workers=1))
    left = len(partials) - len(partials[::2]) - 1
    said = capsys.readouterr().err
    assert f"{left} of {len(partials)} shards were already done" in said
    assert "left alone" not in said
    assert same(out, whole)
    assert not (out / "_partials" / "positions").exists()


def test_a_sample_of_the_corpus_has_a_pilot_and_labels_of_its_own(tmp_path: Path, whole: Path, model: Path) -> None:
    out = tmp_path / "copy"
    shutil.copytree(whole, out)
    own = {"out": str(out), "model": str(model), "workers": 1, "token_budget": 512, "label": "topic", "sentences": 70}
    positions.JOB.run(PositionsConfig.model_validate({**own, "redo": True, "variants": "none"}))
    counts = Run(str(out)).require("positions")["counts"]
    assert (counts["scored"], counts["pilot_texts"]) == (70, 70)
    lengths = pq.read_table(out / "corpus", columns=["sent_id", "n_tokens"]).sort_by("sent_id")["n_tokens"].to_numpy()
    drawn = draw(len(lengths), 70, 0, MEASURED)
    assert counts["tokens"] == lengths[drawn].sum()
    (n,) = {row["n"] for row in pq.read_table(out / "positions/labels").to_pylist()}
    assert n <= 70


def test_an_encoder_equals_a_plain_computation(
    tmp_path: Path, source: Path, make_model: Callable[..., Path], small_bert: Any
) -> None:
    folder, out, odd = make_model(small_bert), tmp_path / "run", tmp_path / "odd.jsonl"
    rows = ["Hm", "\u2603 \u2603 \u2603", "one of them " * 30, "A short one, and three tokens more."]
    odd.write_text("".join(json.dumps({"text": t, "mood": "good"}) + "\n" for t in rows), encoding="utf-8")
    options = {"variants": "none,constant", "label": None, "shard_size": 400, "workers": 1, "answer_column": "topic"}
    sources = (str(source), str(odd))
    positions.JOB.run(config(out, source, folder, **options, corpus=sources, limit=None))
    entry = Run(str(out)).require("positions")
    corpus = pq.read_table(out / "corpus").to_pylist()
    # Of the odd texts those of one token and of unknown ones alone are named, the long one is cut.
    rejected = {row["text"]: row["reason"] for row in pq.read_table(out / "rejects").to_pylist()}
    assert (rejected["Hm"], rejected[rows[1]]) == ("too_short", "unknown_tokens")
    assert next(row["n_tokens"] for row in corpus if row["meta"]["mood"]) == 40
    facts = read_facts(str(folder))
    encoded = Tokenizer(facts).encode([" ".join(filter(None, (r["text"], r["meta"]["topic"]))) for r in corpus])
    assert entry["counts"]["truncated"] == sum(t.cut > 0 for t in encoded) > 0
    plain, without = AutoModel.from_pretrained(folder).eval(), AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        without.embeddings.position_embeddings.weight.zero_()
        states = [
            [model(ids).last_hidden_state[0] for model in (plain, without)]
            for ids in (torch.tensor([t.ids]) for t in encoded)
        ]
    every = torch.cat([torch.cosine_similarity(*both, dim=-1) for both in states])
    ((mean, n),) = duckdb.sql(
        f"""select mean, n from '{out}/positions/similarity/*.parquet'
        where layer = 2 and variant = 'none' and reference = 'default'"""
    ).fetchall()
    assert n == len(every)
    assert mean == pytest.approx(float(every.mean()), abs=1e-5)
    assert not (out / "positions/perplexity").exists()
    assert not (out / "positions/labels").exists()
    variants = duckdb.sql(f"select distinct variant from '{out}/positions/by_class/*.parquet' order by 1").fetchall()
    assert variants == [("constant",), ("none",)]


def test_texts_that_a_shift_leaves_no_place_are_counted_named_and_of_no_label_check(
    tmp_path: Path,
    source: Path,
    make_model: Callable[..., Path],
    small_bert: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model, out = make_model(small_bert), tmp_path / "run"
    options = {"variants": "none,shifted", "workers": 1, "label": "topic", "limit": 64}
    with pytest.raises(InputError, match=r"--shift 39: .*positions.*; give (\d+) or less") as refused:
        positions.JOB.run(config(out, source, model, **options, shift=39))
    lengths = pq.read_table(out / "corpus", columns=["sent_id", "n_tokens"])
    long = [row["sent_id"] for row in lengths.to_pylist() if row["n_tokens"] + 22 > 40]
    assert f"give {40 - min(lengths['n_tokens'].to_pylist())} or less" in str(refused.value)
    assert 10 < len(long) < 50
    capsys.readouterr()
    positions.JOB.run(config(out, source, model, **options, shift=22))
    counts = Run(str(out)).require("positions")["counts"]
    assert counts["without_a_position"] == {"shifted": len(long)}
    assert counts["texts_without_a_position"] == {"shifted": long[:100]}
    assert f"shifted leaves out {len(long)} texts" in capsys.readouterr().err
    rows = pq.read_table(out / "positions/labels").to_pylist()
    assert {row["features"] for row in rows} == {"default", "none", "shifted", "tokens", "majority"}
    assert {row["n_train"] + row["n"] for row in rows} == {64 - len(long)}


def test_reading_apart_as_with_gpus_gives_the_same_partial_files(whole: Path, model: Path) -> None:
    run = Run(str(whole))
    args = PositionsArgs(
        store=run.store, facts=read_facts(str(model)), device="cpu", dtype="float32", threads=1, token_budget=512,
        seed=0, kept=kept_tokens(run), config=PositionsConfig(out=str(whole)), variants=DECODER_DEFAULTS,
    )  # fmt: skip
    file = shard_file("positions", 3)
    before = read_partial(run.store, file)
    _, features = merge_tables([before])
    sample = features.sent_ids.tolist()
    item = {"shard": 3, "span": [60, 80], "parts": [3], "rows": None, "sentences": 20, "sample": sample}
    assert sample
    assert args.kept is not None
    for reading in (args, replace(args, kept=None)):
        made = PositionsWorker(args)(item, prepare_shard(item, reading))
        assert made[file].table.equals(before)


def test_what_does_not_fit_is_refused(
    tmp_path: Path, whole: Path, source: Path, model: Path, make_model: Callable[..., Path]
) -> None:
    own = {"out": str(whole), "model": str(model), "workers": 2, "token_budget": 512}
    for change in ({"variants": "none"}, {"shift": 3}, {"max_tokens": 12}, {"answer_column": "n"}, {"seed": 1}):
        (name,) = change
        with pytest.raises(InputError, match=rf"{name} \(was .*--redo"):
            positions.JOB.run(PositionsConfig.model_validate({**own, "label": "topic", **change}))
    with pytest.raises(InputError, match=r"--label mood: the corpus has no such column, .*; it has n, topic"):
        positions.JOB.run(PositionsConfig.model_validate({**own, "label": "mood"}))
    with pytest.raises(InputError, match="--answer-column reply: the corpus has no such column"):
        positions.JOB.run(PositionsConfig.model_validate({**own, "answer_column": "reply"}))
    out = tmp_path / "run"
    with pytest.raises(InputError, match=r"--max-tokens 41: .* takes 40 tokens at most"):
        positions.JOB.run(config(out, source, model, max_tokens=41))
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    llama = make_model(LlamaConfig(vocab_size=30522, **sizes))
    with pytest.raises(InputError, match=f"--model {llama}: is a llama, which is not known to add learned position"):
        positions.JOB.run(config(out, source, llama))
    assert not out.exists()
