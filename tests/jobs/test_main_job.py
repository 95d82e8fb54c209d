"""The main job from text to tables, on the packaged model and real docstring sentences."""

import json
import shutil
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from jobs import run as run_job
from jobs.run import RunConfig
from ops.model import read_facts
from ops.pydocs import read_pydocs
from ops.rows import Row
from ops.schema import TABLES
from ops.split_sentences import SentenceSplitter

SENTENCES = 360
K = 40


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Real sentences of mixed length, one of them far over the model's limit."""
    splitter = SentenceSplitter()
    rows = [row for row in read_pydocs("stdlib:0") if isinstance(row, Row)]
    found = dict.fromkeys(" ".join(s.split()) for row in rows for s in splitter.split(row.text) if len(s) > 12)
    chosen = list(found)[:: len(found) // SENTENCES][: SENTENCES - 1]
    return [*chosen, " ".join(list(found)[:60])]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Path:
    path = tmp_path_factory.mktemp("source") / "docs.jsonl"
    lines = [{"text": t, "topic": f"t{i % 3}", "doc_id": f"d{i // 5}", "n": i % 4} for i, t in enumerate(texts)]
    lines += [lines[7], lines[7], {"text": "  "}, {"text": "Hm"}, {"text": None}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def config(out: Path, source: Path, **options: object) -> RunConfig:
    values = {"out": str(out), "corpus": (str(source),), "split": "none", "k": K, "shard_size": 100, "workers": 2}
    return RunConfig.model_validate({**values, "activation_sample": 50, "pipeline": "blank", **options})


@pytest.fixture(scope="module")
def finished(shared_ray: None, tmp_path_factory: pytest.TempPathFactory, source: Path) -> Path:
    out = tmp_path_factory.mktemp("runs") / "a"
    run_job.run(config(out, source))
    return out


@pytest.fixture(scope="module")
def activations(texts: list[str]) -> np.ndarray:
    """Every sentence alone through transformers, `[sentences, neurons]`, mean over all its tokens."""
    from transformers import AutoModel, AutoTokenizer

    path = read_facts("sample").path
    model, tokenizer = AutoModel.from_pretrained(path).eval(), AutoTokenizer.from_pretrained(path)
    rows = []
    with torch.inference_mode():
        for text in texts:
            inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=512, padding=False)
            states = model(**inputs, output_hidden_states=True).hidden_states[1:]
            rows.append(torch.cat([state[0].mean(0) for state in states]).numpy())
    return np.array(rows)


def test_corpus_keeps_the_sources_order_and_counts_copies(finished: Path, texts: list[str]) -> None:
    corpus = pq.read_table(finished / "corpus").to_pydict()
    assert corpus["text"] == [" ".join(t.split()) for t in texts]
    assert corpus["sent_id"] == list(range(len(texts)))
    assert [n for i, n in enumerate(corpus["n_copies"]) if i != 7] == [1] * (len(texts) - 1)
    assert corpus["n_copies"][7] == 3
    assert corpus["sent_in_doc"][:12] == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    assert dict(corpus["meta"][5]) == {"topic": "t2", "n": "1"}
    assert corpus["n_tokens"][-1] == 512


def test_accounting_adds_up(finished: Path, texts: list[str]) -> None:
    stages = json.loads((finished / "run.json").read_text())["stages"]
    (source,) = stages["ingest"]["counts"]["sources"]
    assert source["sentences"] == len(texts) + 5
    assert (source["kept"], source["copies"], source["rejected"], source["not_sampled"]) == (len(texts), 2, 3, 0)
    assert source["reject_reasons"] == {"empty": 2, "too_short": 1}
    assert source["truncated"] == 1
    (scored,) = stages["topk"]["counts"]["sources"]
    assert scored["kept"] == scored["scored"] + scored["unscored"] == len(texts)
    assert sorted(r["reason"] for r in pq.read_table(finished / "rejects").to_pylist()) == ["empty", "empty", "too_short"]


def test_topk_is_brute_force(finished: Path, activations: np.ndarray) -> None:
    """Same sentences in the same order for all neurons and both poles, but for ties within 1e-4."""
    table = pq.read_table(finished / "topk")
    width = activations.shape[1] // 6
    neuron = (table["layer"].to_numpy() - 1) * width + table["unit"].to_numpy()
    ids, values, ranks = (table[c].to_numpy() for c in ("sent_id", "activation", "rank"))
    top = np.array(table["pole"].to_pylist()) == "top"
    assert table.num_rows == activations.shape[1] * 2 * K
    assert np.abs(values - activations[ids, neuron]).max() < 1e-4
    for pole, sign in ((top, -1), (~top, 1)):
        expected = np.argsort(sign * activations, axis=0, kind="stable")[:K]
        own = ids[pole].reshape(-1, K)
        assert (ranks[pole].reshape(-1, K) == np.arange(1, K + 1)).all()
        assert all(len(set(row)) == K for row in own)
        exact = np.take_along_axis(activations, expected, 0).T
        found = np.take_along_axis(activations, own.T, 0).T
        assert np.abs(found - exact).max() < 1e-4
        assert (own == expected.T).mean() > 0.99
    order = list(zip(table["layer"].to_pylist(), table["unit"].to_pylist(), table["pole"].to_pylist(), ranks, strict=True))
    assert order == sorted(order)


def test_neurons_are_the_moments_of_all_sentences(finished: Path, activations: np.ndarray) -> None:
    neurons = pq.read_table(finished / "neurons")
    wide = activations.astype(np.float64)
    centred = wide - wide.mean(0)
    std = wide.std(0)
    for name, expected, tolerance in (
        ("mean", wide.mean(0), 1e-5),
        ("std", std, 1e-5),
        ("skew", (centred**3).mean(0) / std**3, 1e-3),
        ("kurtosis", (centred**4).mean(0) / std**4 - 3, 1e-3),
        ("min", wide.min(0), 1e-5),
        ("max", wide.max(0), 1e-5),
        ("top_threshold", np.sort(wide, 0)[-K], 1e-5),
        ("bottom_threshold", np.sort(wide, 0)[K - 1], 1e-5),
        ("top_mean", np.sort(wide, 0)[-K:].mean(0), 1e-5),
        ("bottom_mean", np.sort(wide, 0)[:K].mean(0), 1e-5),
    ):
        assert np.abs(neurons[name].to_numpy() - expected).max() < tolerance, name
    assert set(neurons["n"].to_pylist()) == {len(activations)}
    for row in neurons.slice(0, 40).to_pylist():
        edges, counts = np.array(row["histogram_edges"]), row["histogram_counts"]
        assert len(counts) == len(edges) + 1 >= 256
        assert (np.diff(edges) > 0).all()
        values = activations[:, (row["layer"] - 1) * 384 + row["unit"]]
        cumulated = np.searchsorted(np.sort(values), edges, side="left")
        assert np.abs(np.cumsum(counts)[:-1] - cumulated).max() <= 2


def test_activation_sample_is_whole_vectors(finished: Path, activations: np.ndarray) -> None:
    table = pq.read_table(finished / "activations")
    ids = table["sent_id"].to_numpy()
    assert len(set(ids.tolist())) == 50
    assert (np.diff(ids) > 0).all()
    found = np.concatenate([np.array(table[f"layer_{i}"].to_pylist()) for i in range(1, 7)], 1)
    assert np.abs(found - activations[ids]).max() < 1e-4


def test_sentences_are_exactly_those_that_are_named(finished: Path, texts: list[str]) -> None:
    table = pq.read_table(finished / "sentences").to_pydict()
    assert table["sent_id"] == list(range(len(texts)))
    assert all(table["is_baseline"])
    winners = set(pq.read_table(finished / "topk")["sent_id"].to_pylist())
    assert [i for i, w in enumerate(table["is_winner"]) if w] == sorted(winners)
    assert table["words"][0] is not None


def test_patterns_are_counted_against_the_sentences_outside_the_winners(finished: Path) -> None:
    sentences = pq.read_table(finished / "sentences").to_pydict()
    topk = pq.read_table(finished / "topk")
    rows = pq.read_table(finished / "patterns").to_pylist()
    marks = set(".,:;!?'\"`()[]{}-_")
    words = [[w for w in ws if not set(w) <= marks] for ws in sentences["words"]]
    some = [r for r in rows if (r["layer"], r["unit"]) in {(1, 3), (6, 200)}]
    assert len(some) > 20
    for row in some[::5]:
        own = topk.filter(
            (pa.compute.equal(topk["layer"], row["layer"]).to_numpy())
            & (pa.compute.equal(topk["unit"], row["unit"]).to_numpy())
            & (pa.compute.equal(topk["pole"], row["pole"]).to_numpy())
        )["sent_id"].to_pylist()
        having = [i for i, ws in enumerate(words) if _contains(ws, row["items"], 4)]
        a, c = len(set(having) & set(own)), len(set(having) - set(own))
        assert row["support"] == a
        assert row["share"] == pytest.approx(a / K)
        assert row["baseline_share"] == pytest.approx(c / (len(words) - K))
        lift = ((a + 0.5) / (K + 1)) / ((c + 0.5) / (len(words) - K + 1))
        assert row["lift"] == pytest.approx(lift, rel=1e-5)
        assert row["docs"] == len({sentences["doc_id"][i] for i in set(having) & set(own)})


def _contains(words: list[str], pattern: list[str], gap: int) -> bool:
    ends = [i for i, w in enumerate(words) if w == pattern[0]]
    for item in pattern[1:]:
        ends = sorted({j for i in ends for j in range(i + 1, min(i + 2 + gap, len(words))) if words[j] == item})
    return bool(ends)


def test_profiles_are_shares_of_the_metadata(finished: Path) -> None:
    con = duckdb.connect()
    found = con.sql(f"""
        with named as (
            select layer, unit, pole, s.meta['topic'] as value
            from read_parquet('{finished}/topk/*.parquet') t
            join read_parquet('{finished}/sentences/*.parquet') s using (sent_id)
        ),
        counted as (select layer, unit, pole, value, count(*) as expected from named where value is not null group by all),
        totals as (select layer, unit, pole, sum(expected) as expected_n from counted group by all)
        select p.count, p.n, expected, expected_n
        from read_parquet('{finished}/profiles/*.parquet') p
        join counted using (layer, unit, pole, value) join totals using (layer, unit, pole)
        where p.property = 'topic'
    """).fetchall()
    assert len(found) > 10_000
    assert all(count == expected and n == expected_n for count, n, expected, expected_n in found)


@pytest.mark.parametrize("table", sorted(TABLES.keys() - {"compare"} | {"activations"}))
def test_every_table_opens_in_duckdb_polars_and_datasets(finished: Path, table: str, tmp_path: Path) -> None:
    files = sorted((finished / table).glob("*.parquet"))
    rows = sum(pq.ParquetFile(f).metadata.num_rows for f in files)
    assert duckdb.sql(f"select count(*) from read_parquet('{finished}/{table}/*.parquet')").fetchone() == (rows,)
    assert pl.read_parquet(finished / table / "*.parquet").height == rows
    footers = {pq.ParquetFile(f).schema_arrow.metadata[b"atlas.fingerprint"] for f in files}
    assert len(footers) == 1
    assert all(pq.ParquetFile(f).schema_arrow.metadata[b"atlas.schema_version"] for f in files)
    if table in TABLES:
        assert pq.ParquetFile(files[0]).schema_arrow.remove_metadata().equals(TABLES[table].arrow)
    import datasets

    if rows == 0:
        return
    names = [str(f) for f in files]
    columns = pq.ParquetFile(files[0]).schema_arrow.names
    if "meta" not in columns:
        opened = datasets.load_dataset("parquet", data_files=names, split="train", cache_dir=str(tmp_path))
        assert opened.num_rows == rows
        return
    # datasets knows no Arrow maps: it gets them as lists of key and value, the way the README shows.
    whole = pq.read_table(finished / table)
    pairs = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))
    place = whole.schema.get_field_index("meta")
    listed = whole.set_column(place, "meta", whole["meta"].cast(pairs)).replace_schema_metadata(None)
    assert datasets.Dataset(listed)[0]["meta"][0].keys() == {"key", "value"}


def test_another_number_of_workers_gives_the_same_rows(
    finished: Path, shared_ray: None, source: Path, tmp_path: Path
) -> None:
    run_job.run(config(tmp_path / "b", source, workers=1))
    for table in ("corpus", "topk", "neurons", "activations", "sentences", "patterns", "profiles", "means"):
        assert pq.read_table(finished / table).equals(pq.read_table(tmp_path / "b" / table)), table


def test_running_again_does_nothing(finished: Path, source: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in finished.rglob("*.parquet")}
    run_job.run(config(finished, source))
    assert {p: p.stat().st_mtime_ns for p in finished.rglob("*.parquet")} == before


def test_one_pole_alone(shared_ray: None, finished: Path, source: Path, tmp_path: Path) -> None:
    from jobs import topk

    shutil.copytree(finished, tmp_path / "c")
    options = {"out": str(tmp_path / "c"), "k": K, "poles": "bottom", "workers": 2, "activation_sample": 50, "redo": True}
    topk.run(topk.TopkConfig.model_validate(options))
    both, one = pq.read_table(finished / "topk"), pq.read_table(tmp_path / "c" / "topk")
    assert one.equals(both.filter(pa.compute.equal(both["pole"], "bottom")))
    assert pq.read_table(tmp_path / "c" / "neurons")["top_mean"].null_count == 2304
    assert not (tmp_path / "c" / "patterns").exists()
