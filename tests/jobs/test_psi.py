"""The side job `psi`, end to end on a small random model: tables, figures, resuming, workers and wrong calls."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch

from jobs.psi import job as psi
from jobs.psi.job import PsiConfig
from jobs.psi.steps import GroupReader, prepare_group
from jobs.stage.corpus_pass import PassArgs
from jobs.stage.outputs import shard_file
from ops.errors import InputError
from ops.model.attention_modules import head_projections, word_embeddings
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer
from ops.psi.psi import static_psi
from ops.sampling import MEASURED, draw
from ops.schema import schema
from ops.storage.arrays import read_arrays
from ops.storage.store import Store
from tests.jobs.finished_runs.psi import psi_options as options

pytestmark = pytest.mark.usefixtures("blank_figures")
Command = Callable[..., subprocess.CompletedProcess[str]]
TABLES = ("psi/vocabulary", "psi/tokens", "psi/clusters", "psi/agreement", "psi/contextual")
FIGURES = ("embedding_plane", "position_attention", "psi_by_cluster", "top_cluster_types", "word_position_cosines")


@pytest.fixture
def whole(psi_run: tuple[Path, Path]) -> Path:
    return psi_run[0]


@pytest.fixture
def model(psi_run: tuple[Path, Path]) -> Path:
    return psi_run[1]


def read(out: Path, table: str) -> pa.Table:
    return pq.read_table(out / table)


def test_the_tables_are_as_specified_and_sorted(whole: Path, model: Path) -> None:
    for table in TABLES:
        files = sorted((whole / table).glob("*.parquet"))
        assert all(pq.ParquetFile(f).schema_arrow.remove_metadata().equals(schema(table)) for f in files)
    tokens = pq.read_table(whole / "psi/tokens")
    assert tokens.num_rows == 2 * 2 * 30_522
    assert [pq.ParquetFile(f).num_row_groups for f in sorted((whole / "psi/tokens").glob("*.parquet"))] == [2, 2]
    for table, columns in (("psi/tokens", "layer, head, token_id"), ("psi/clusters", "layer, head, rank")):
        ordered = duckdb.sql(f"select * from '{whole}/{table}/*.parquet' order by {columns}").to_arrow_table()
        assert ordered.to_pylist() == read(whole, table).to_pylist()
    clusters = read(whole, "psi/clusters")
    assert clusters.num_rows == 2 * 2 * 12
    assert set(clusters["n"].to_pylist()) <= set(range(1, 30_523))
    vocabulary = read(whole, "psi/vocabulary")
    assert len(set(vocabulary["supercluster"].to_pylist())) == 7
    assert read(whole, "psi/agreement").num_rows == 1


def test_tokens_and_clusters_come_from_the_model_s_weights(whole: Path, model: Path) -> None:
    facts = read_facts(str(model))
    loaded = load_model(facts, "cpu", "float32")
    vectors, layers = word_embeddings(loaded, facts), head_projections(loaded, facts)
    own = pq.read_table(whole / "psi/tokens", filters=[("layer", "=", 2), ("head", "=", 1)])
    expected = static_psi(vectors, layers[1].weight)[:, :, 1].numpy()
    # The padding token's row of a BERT that was never trained is zero: it has no psi.
    known = expected[:, 0] == expected[:, 0]
    assert [v is None for v in own["psi_qkv"].to_pylist()] == (~known).tolist()
    for i, name in enumerate(("psi_q", "psi_k", "psi_v", "psi_qkv")):
        np.testing.assert_allclose(own[name].to_numpy()[known], expected[known, i], rtol=1e-6)
    mismatches = duckdb.sql(f"""
        with means as (
            select layer, head, cluster, count(psi_qkv) as n, avg(psi_qkv) as qkv, avg(psi_v) as v
            from '{whole}/psi/tokens/*.parquet' join '{whole}/psi/vocabulary/*.parquet' using (token_id) group by all
        )
        select count(*) filter (abs(qkv / psi_qkv - 1) > 1e-6 or abs(v / psi_v - 1) > 1e-6 or means.n <> c.n), count(*)
        from '{whole}/psi/clusters/*.parquet' c join means using (layer, head, cluster)
    """).fetchall()
    assert mismatches == [(0, 48)]


@torch.inference_mode()
def test_contextual_values_are_those_of_the_sentences_one_by_one(whole: Path, model: Path) -> None:
    facts = read_facts(str(model))
    loaded, tokenizer = load_model(facts, "cpu", "float32"), Tokenizer(facts)
    texts = read(whole, "corpus")["text"].to_pylist()
    weight = dict(loaded.named_parameters())["encoder.layer.1.attention.self.key.weight"].double()
    found: dict[int, list[float]] = {}
    for tokens in tokenizer.encode(texts):
        states = loaded(input_ids=torch.tensor([tokens.ids]), output_hidden_states=True).hidden_states
        x = states[1][0].double()
        ratios = (x @ weight.T).view(-1, 2, 6).norm(dim=2)[:, 1] / 6**0.5 / (x.norm(dim=1) / 12**0.5)
        for token, ratio in zip(tokens.ids, ratios.tolist(), strict=True):
            found.setdefault(token, []).append(ratio)
    rows = pq.read_table(whole / "psi/contextual", filters=[("layer", "=", 2), ("head", "=", 1)]).to_pylist()
    assert [r["token_id"] for r in rows] == sorted(found)
    for row in rows:
        own = np.array(found[row["token_id"]])
        assert row["n"] == len(own)
        assert row["psi_k_mean"] == pytest.approx(own.mean(), rel=1e-4)
        assert row["psi_k_std"] == pytest.approx(own.std(), abs=1e-4)
    counts = json.loads((whole / "run.json").read_text())["stages"]["psi/contextual"]["counts"]
    assert counts["scored"] == len(texts)
    assert counts["tokens"] == sum(len(own) for own in found.values())
    assert max(len(t.ids) for t in tokenizer.encode(texts)) == facts.position_limit


def test_every_figure_as_png_pdf_and_svg(whole: Path) -> None:
    names = sorted(p.name for p in (whole / "psi/figures").iterdir())
    assert names == sorted(f"{n}.{end}" for n in (*FIGURES, "static_contextual") for end in ("pdf", "png", "svg"))
    assert all((whole / "psi/figures" / n).stat().st_size > 5_000 for n in names)


def test_reading_apart_as_with_gpus_gives_the_same_partial_files(whole: Path, model: Path) -> None:
    args = PassArgs(
        store=Store(str(whole)), facts=read_facts(str(model)), device="cpu", dtype="float32", threads=1,
        token_budget=256, seed=0, kept=None,
    )  # fmt: skip
    item = {"shard": 1, "span": [40, 80], "parts": [1], "rows": None, "sentences": 40}
    file = shard_file("psi/contextual", 1)
    tables = [GroupReader(args)(item, prepared)[file].table for prepared in (None, prepare_group(item, args))]
    assert len(read_arrays(tables[0])["ids"]) > 10
    assert tables[0].equals(tables[1])


def test_a_sample_of_the_corpus_is_read_by_groups_too(whole: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    shutil.copytree(whole, out)
    given = {"out": str(out), "model": str(model), "clusters": 12, "cluster_seeds": 2, "workers": 1}
    with pytest.raises(
        InputError, match=r"psi/contextual was run with other options: .*sentences \(was not given, is 50\)"
    ):
        psi.JOB.run(PsiConfig.model_validate({**given, "sentences": 50}))
    psi.JOB.run(PsiConfig.model_validate({**given, "sentences": 50, "group_size": 4, "redo": True}))
    corpus = pq.read_table(out / "corpus", columns=["sent_id", "n_tokens"]).sort_by("sent_id")
    drawn = draw(corpus.num_rows, 50, 0, MEASURED)
    moments = read(out, "psi/contextual").filter(pc.field("layer") == 1).filter(pc.field("head") == 0)
    assert pc.sum(moments["n"]).as_py() == corpus["n_tokens"].to_numpy()[drawn].sum()


def test_static_first_and_the_corpus_later_by_groups_of_shards(
    tmp_path: Path, model: Path, source: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    psi.JOB.run(PsiConfig(out=str(out), model=str(model), clusters=12, cluster_seeds=2, workers=1))
    assert "there is no corpus/ and no --corpus" in capsys.readouterr().err
    assert not (out / "psi/contextual").exists()
    assert not (out / "psi/figures/static_contextual.svg").exists()
    for table in set(TABLES) - {"psi/contextual"}:
        assert read(out, table).equals(read(whole, table)), table
    times = {p: p.stat().st_mtime_ns for p in out.rglob("psi/**/*.parquet")}
    psi.JOB.run(PsiConfig.model_validate(options(out, model, corpus=(str(source),), group_size=4, workers=1)))
    assert "psi: already done, 30,522 tokens" in capsys.readouterr().err
    assert {p: p.stat().st_mtime_ns for p in times} == times
    ours, theirs = (read(run, "psi/contextual") for run in (out, whole))
    assert ours["n"].equals(theirs["n"])
    for name in schema("psi/contextual").names[4:]:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-6, atol=1e-6)
    assert (out / "psi/figures/static_contextual.svg").exists()
    assert not list((out / "_partials").rglob("*.parquet"))
    with pytest.raises(InputError, match=r"clusters \(was 12, is 13\)"):
        psi.JOB.run(PsiConfig.model_validate(options(out, model, corpus=(str(source),), clusters=13)))


def test_wrong_calls(tmp_path: Path, make_model: Callable[..., Path], model: Path, source: Path) -> None:
    from transformers import AlbertConfig

    def refused(match: str, **more: Any) -> None:
        given = options(tmp_path / "run", model, corpus=(str(source),)) | more
        config = PsiConfig.model_validate({n: v for n, v in given.items() if v is not None})
        with pytest.raises(InputError, match=match):
            psi.JOB.run(config)
        assert not (tmp_path / "run" / "corpus").exists()

    refused("--clusters 40000: .* has a vocabulary of 30522 tokens", clusters=40_000)
    refused("--static-only with --corpus", static_only=True)
    refused("--static-only with --sentences", static_only=True, corpus=None, split=None, shard_size=None, sentences=5)
    refused("--shard-size: is an option of ingest", corpus=None, split=None, static_only=True)
    refused("no such directory", model="./no/such/model")
    sizes = {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    albert = make_model(AlbertConfig(vocab_size=30522, embedding_size=8, **sizes))
    refused("is an albert, whose attention modules are unknown", model=str(albert))


def test_show(call: Command, whole: Path, source: Path, tmp_path: Path) -> None:
    shown = call("show", "--out", whole, "--psi", "2:1", "--rows", "3")
    assert shown.returncode == 0, shown.stderr
    assert "Head 1 of layer 2 (L1-H1 where layers count from 0" in shown.stdout
    assert "Tokens, sorted by their mean psi_qkv over the corpus" in shown.stdout
    first = duckdb.sql(f"select psi_qkv from '{whole}/psi/clusters/*.parquet' where layer=2 and head=1 and rank=1")
    assert f"{first.fetchall()[0][0]:.2f}" in shown.stdout
    for which, named in (("3:0", "layers run from 1 to 2"), ("1:2", "heads from 0 to 1"), ("four", "LAYER:HEAD")):
        wrong = call("show", "--out", whole, "--psi", which)
        assert (wrong.returncode, "Traceback" in wrong.stderr) == (2, False)
        assert named in wrong.stderr.splitlines()[-1]
    call("ingest", "--out", tmp_path / "bare", "--corpus", source)
    missing = call("show", "--out", tmp_path / "bare", "--psi", "1:0")
    assert missing.returncode == 2
    assert "psi/vocabulary/ is missing; run atlas psi" in missing.stderr.splitlines()[-1]
