"""The same rows however it ran, and what each option changes."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch

from jobs.annotate import job as annotate
from jobs.ingest import job as ingest
from jobs.mine import job as mine
from jobs.run import job as run_job
from jobs.topk import job as topk
from jobs.topk.job import TopkConfig
from ops.errors import InputError
from ops.storage.tables import part_name
from tests.jobs.finished_runs.main import K, config

Make = Callable[..., Path]
POOLED = {"mean": lambda s: s.mean(0), "max": lambda s: s.amax(0), "cls": lambda s: s[0], "last": lambda s: s[-1]}
STRING = 5164  # the token "string"
EVERY = (
    *("corpus", "rejects", "topk", "topk_by_dataset", "neurons", "activations"),
    *("sentences", "patterns", "profiles", "means", "scores"),
)


def rescore(run: tuple[Path, Path], out: Path, **options: object) -> Path:
    """Score the run's corpus again in `out`, in this process."""
    shutil.copytree(run[0], out)
    given = {"out": str(out), "model": str(run[1]), "k": K, "activation_sample": 50, "workers": 1, "redo": True}
    topk.JOB.run(TopkConfig.model_validate({**given, **options}))
    return out


@pytest.fixture(scope="module")
def one_shard(
    small_run: tuple[Path, Path], source: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """The same corpus in one shard, which is scored in this process."""
    out = tmp_path_factory.mktemp("runs") / "one"
    names = ingest.IngestConfig.model_fields
    options = config(out, source, model=str(small_run[1]), shard_size=1000)
    ingest.JOB.run(ingest.IngestConfig.model_validate({n: getattr(options, n) for n in names}))
    return out, small_run[1]


def test_another_number_of_workers_gives_the_same_rows(
    small_run: tuple[Path, Path], source: Path, tmp_path: Path
) -> None:
    run_job.JOB.run(config(tmp_path / "b", source, model=str(small_run[1]), workers=1, no_tokens=False))
    for table in (*EVERY, "token_activations", "peaks"):
        assert pq.read_table(small_run[0] / table).equals(pq.read_table(tmp_path / "b" / table)), table


def test_annotated_shards_of_several_row_groups_and_short_ranges_give_the_same_rows(
    small_run: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.storage.tables.group_rows", lambda table: 30)
    monkeypatch.setattr("jobs.stage.ranges.NEURONS_PER_RANGE", (5, 5))
    shutil.copytree(small_run[0], tmp_path / "j")
    given = {"out": str(tmp_path / "j"), "workers": 1}
    annotate.JOB.run(annotate.AnnotateConfig.model_validate({**given, "redo": True, "keep_partials": True}))
    with pq.ParquetFile(tmp_path / "j" / part_name("sentences", 0)) as file:
        assert file.num_row_groups == 4
    mine.JOB.run(mine.MineConfig.model_validate(given))
    assert len(list((tmp_path / "j/patterns").iterdir())) > len(list((small_run[0] / "patterns").iterdir()))
    for table in ("sentences", "patterns", "profiles", "means", "scores"):
        assert pq.read_table(small_run[0] / table).equals(pq.read_table(tmp_path / "j" / table)), table


def test_random_sets_score_one_half_within_their_interval(small_run: tuple[Path, Path]) -> None:
    scores = pq.read_table(small_run[0] / "scores").to_pylist()
    assert len(scores) == 48
    for name in ("random", "matched"):
        rows = [s for s in scores if s[f"{name}_auc"] is not None]
        assert len(rows) > 40
        if name == "random":
            assert np.mean([s["random_low"] <= 0.5 <= s["random_high"] for s in rows]) > 0.85
            assert abs(np.mean([s["random_auc"] for s in rows]) - 0.5) < 0.05
    assert all(s["auc_low"] <= s["auc"] <= s["auc_high"] for s in scores if s["auc"] is not None)
    assert {s["n_winners"] for s in scores} == {K}


def test_one_pole_alone_is_that_half(small_run: tuple[Path, Path], tmp_path: Path) -> None:
    out = rescore(small_run, tmp_path / "c", poles="bottom")
    both, one = pq.read_table(small_run[0] / "topk"), pq.read_table(out / "topk")
    assert one.equals(both.filter(pc.equal(both["pole"], "bottom")))
    assert pq.read_table(out / "neurons")["top_mean"].null_count == 24
    assert not (out / "patterns").exists(), "--redo keeps what was made of the results it drops"


def test_fewer_sentences_than_k_gives_all_of_them(one_shard: tuple[Path, Path], tmp_path: Path) -> None:
    table = pq.read_table(rescore(one_shard, tmp_path / "d", k=1000) / "topk")
    corpus = pq.read_table(one_shard[0] / "corpus").num_rows
    assert table.num_rows == 24 * 2 * corpus
    own = table.filter(pc.and_(pc.equal(table["layer"], 2), pc.equal(table["unit"], 5)))
    top, bottom = (own.filter(pc.equal(own["pole"], p))["activation"].to_numpy() for p in ("top", "bottom"))
    assert (np.diff(top) <= 0).all()
    assert np.array_equal(top[::-1], bottom)


def test_where_padding_leaks_each_sentence_is_scored_as_if_alone(
    one_shard: tuple[Path, Path], tmp_path: Path, make_model: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    from transformers import AutoModel, AutoTokenizer, ConvBertConfig

    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    model = make_model(ConvBertConfig(**size, embedding_size=16, head_ratio=1, max_position_embeddings=40))
    out = rescore((one_shard[0], model), tmp_path / "leaks", activation_sample=400)
    assert "padding changes what a convbert computes, so batches have sentences of one length" in capfd.readouterr().err
    network, tokenizer = AutoModel.from_pretrained(model).eval(), AutoTokenizer.from_pretrained(model)
    table, texts = pq.read_table(out / "activations"), pq.read_table(out / "corpus")["text"].to_pylist()
    assert table.num_rows == len(texts)
    for row, text in list(enumerate(texts))[::23]:
        with torch.inference_mode():
            given = tokenizer(text, return_tensors="pt", truncation=True, max_length=40)
            states = network(**given, output_hidden_states=True).hidden_states
        for layer in (1, 2):
            alone = states[layer][0].mean(0).numpy()
            np.testing.assert_allclose(table[f"layer_{layer}"][row].as_py(), alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("site", "pool", "special"),
    [
        *(("hidden", "mean", "include"), ("hidden", "max", "exclude"), ("hidden", "cls", "include")),
        *(("hidden", "last", "exclude"), ("mlp", "mean", "exclude"), ("attention", "mean", "include")),
    ],
)
def test_sites_and_pools_are_those_of_each_sentence_alone(
    one_shard: tuple[Path, Path], tmp_path: Path, site: str, pool: str, special: str
) -> None:
    from transformers import AutoModel, AutoTokenizer

    options = {"site": site, "pool": pool, "special_tokens": special, "activation_sample": 400}
    out = rescore(one_shard, tmp_path / "e", **options)
    model, tokenizer = AutoModel.from_pretrained(one_shard[1]).eval(), AutoTokenizer.from_pretrained(one_shard[1])
    found: list[torch.Tensor] = []
    for layer in model.encoder.layer:
        if site == "mlp":
            layer.intermediate.register_forward_hook(lambda m, i, o: found.append(o[0]))
        elif site == "attention":
            layer.attention.output.dense.register_forward_hook(lambda m, i, o: found.append(o[0]))
    table = pq.read_table(out / "activations")
    texts = pq.read_table(one_shard[0] / "corpus")["text"].to_pylist()
    measured = np.concatenate([np.array(table[f"layer_{i}"].to_pylist()) for i in (1, 2)], 1)
    assert measured.shape == (len(texts), {"hidden": 24, "mlp": 40, "attention": 24}[site])
    for row, text in list(enumerate(texts))[::37]:
        found.clear()
        inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=40)
        with torch.inference_mode():
            states = model(**inputs, output_hidden_states=True).hidden_states
        layers = [s[0] for s in states[1:]] if site == "hidden" else found
        layers = [layer[1:-1] if special == "exclude" else layer for layer in layers]
        expected = torch.cat([POOLED[pool](layer) for layer in layers]).numpy()
        assert np.abs(measured[row] - expected).max() < 1e-5


def test_a_sentence_without_a_finite_activation_is_named(
    source: Path, make_model: Make, small_bert: object, tmp_path: Path
) -> None:
    from transformers import AutoTokenizer

    def poison(model: torch.nn.Module) -> None:
        # Finite weights, whose differences overflow.
        model.embeddings.word_embeddings.weight[STRING, ::2] = 3e38
        model.embeddings.word_embeddings.weight[STRING, 1::2] = -3e38

    model = make_model(small_bert, change=poison)
    options = config(tmp_path / "f", source, model=str(model), workers=1)
    run_job.JOB.run(options)
    corpus = pq.read_table(tmp_path / "f" / "corpus").to_pydict()
    tokenizer = AutoTokenizer.from_pretrained(model)
    ids = tokenizer(corpus["text"], truncation=True, max_length=40)["input_ids"]
    lost = [i for i, own in zip(corpus["sent_id"], ids, strict=True) if STRING in own]
    assert 0 < len(lost) < 100
    unscored = pq.read_table(tmp_path / "f" / "unscored").to_pydict()
    assert unscored["sent_id"] == lost
    assert set(unscored["reason"]) == {"non-finite activation, first in layer 1"}
    (counts,) = json.loads((tmp_path / "f" / "run.json").read_text())["stages"]["topk"]["counts"]["sources"]
    assert (counts["unscored"], counts["kept"]) == (len(lost), counts["scored"] + len(lost))
    assert not set(lost) & set(pq.read_table(tmp_path / "f" / "topk")["sent_id"].to_pylist())
    sentences = pq.read_table(tmp_path / "f" / "sentences").to_pydict()
    assert not set(lost) & {i for i, b in zip(sentences["sent_id"], sentences["is_baseline"], strict=True) if b}
    assert set(pq.read_table(tmp_path / "f" / "neurons")["n"].to_pylist()) == {len(corpus["text"]) - len(lost)}


def test_a_model_that_scores_nothing_says_so(
    source: Path, make_model: Make, small_bert: object, tmp_path: Path
) -> None:
    def poison(model: torch.nn.Module) -> None:
        model.embeddings.LayerNorm.weight.fill_(3e38)

    with pytest.raises(InputError, match="no finite activation"):
        run_job.JOB.run(config(tmp_path / "g", source, model=str(make_model(small_bert, change=poison)), workers=1))


def test_a_decoder(source: Path, make_model: Make, small_gpt2: object, tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    model = make_model(small_gpt2)
    given = {"out": str(tmp_path / "h"), "corpus": (str(source),), "split": "none", "model": str(model), "k": 7}
    given["workers"] = 1
    with pytest.raises(InputError, match="decoder"):
        topk.JOB.run(TopkConfig.model_validate({**given, "pool": "cls"}))
    topk.JOB.run(TopkConfig.model_validate({**given, "pool": "last", "activation_sample": 400}))
    corpus, table = pq.read_table(tmp_path / "h" / "corpus"), pq.read_table(tmp_path / "h" / "activations")
    reference = AutoModel.from_pretrained(model).eval()
    tokenizer = AutoTokenizer.from_pretrained(model)
    for row in (3, 99, 250):
        inputs = tokenizer(corpus["text"][row].as_py(), return_tensors="pt", truncation=True, max_length=40)
        with torch.inference_mode():
            states = reference(inputs["input_ids"], output_hidden_states=True).hidden_states
        for layer in (1, 2):
            measured = np.array(table[f"layer_{layer}"][row].as_py())
            assert np.abs(measured - states[layer][0, -1].numpy()).max() < 1e-5


def test_reading_apart_as_with_gpus_gives_the_same_partial_files(small_run: tuple[Path, Path], tmp_path: Path) -> None:
    """With GPUs shards are read and tokenized on cores of their own: the same batches, so the same rows."""
    from jobs.stage.outputs import shard_file
    from jobs.topk.score import ScoreArgs, ShardWorker, prepare_shard
    from ops.model.activations import ScoreOptions
    from ops.model.load import read_facts
    from ops.storage.store import Store
    from ops.topk.neurons import read_neurons

    out = rescore(small_run, tmp_path / "i", keep_partials=True)
    fingerprint = json.loads((out / "run.json").read_text())["stages"]["topk"]["fingerprint"]
    args = ScoreArgs(
        store=Store(str(out)), facts=read_facts(str(small_run[1])), options=ScoreOptions(), seed=0, k=K,
        neurons=read_neurons(Store(str(out))), poles=("top", "bottom"), token_budget=2048, fingerprint=fingerprint,
    )  # fmt: skip
    item = {"shard": 1, "span": [100, 200], "sample": []}
    tables: list[pa.Table] = []
    for prepared in (None, prepare_shard(item, args)):
        ShardWorker(args)(item, prepared)
        tables.append(pq.read_table(out / shard_file("topk", 1).path))
        assert tables[-1].num_rows % 2 == 0  # each neuron's row, and behind them what is read of all neurons at once
    assert tables[0].equals(tables[1])
    # The branch of GPUs, on this CPU: the same winners but for the last digits, perhaps among further candidates.
    queued = replace(args, options=ScoreOptions(queued=True))
    ShardWorker(queued)(item, prepare_shard(item, queued))
    found = pq.read_table(out / shard_file("topk", 1).path)
    found, expected = (table.slice(0, table.num_rows // 2) for table in (found, tables[0]))
    for column, sign in (("top_activation", -1), ("bottom_activation", 1)):
        for ours, theirs in zip(found[column].to_pylist(), expected[column].to_pylist(), strict=True):
            best = sign * np.sort(sign * np.array(ours, np.float32))[: len(theirs)]
            np.testing.assert_allclose(best, theirs, atol=1e-5)
    for name in ("mean", "m2", "min", "max"):
        np.testing.assert_allclose(found[name].to_numpy(), expected[name].to_numpy(), rtol=1e-4, atol=1e-5)
