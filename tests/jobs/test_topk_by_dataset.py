"""The job topk with --k-per-dataset: against brute force, however it ran, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from jobs.annotate import job as annotate
from jobs.annotate.job import AnnotateConfig
from jobs.run import job as run_job
from jobs.topk import job as topk
from jobs.topk.job import TopkConfig
from ops.errors import InputError
from ops.topk.activation_sample import dense, read_layer
from ops.topk.neurons import read_neurons

N, K = 5, 30
SIZES = {"a' or 1 --": 120, "b..%s{}": 100, "few": 60, "Ünïcode\u202e": 110}  # sentences of each data set
ASKED = [name for name, size in SIZES.items() if size >= 20 * N]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> tuple[str, ...]:
    """Sources of four data sets, one of them from two separate files, with sentences that tie."""
    folder, found, at = tmp_path_factory.mktemp("sources"), [], 0
    every = [*texts, *(f"{text} once more" for text in texts)]
    halves = [(name, size // 2, half) for half in (0, 1) for name, size in SIZES.items()]
    for number, (name, size, half) in enumerate(halves):
        path = folder / f"{number}.jsonl"
        lines = [{"text": text, "doc_id": f"{half}-{i // 3}"} for i, text in enumerate(every[at : at + size])]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        found.append(f"{name}={path}")
        at += size
    return tuple(found)


@pytest.fixture(scope="module")
def model(make_model: Callable[..., Path], small_bert: object) -> str:
    return str(make_model(small_bert))


def options(out: Path, corpus: tuple[str, ...], model: str, **more: Any) -> dict[str, Any]:
    own = {"out": str(out), "corpus": list(corpus), "split": "none", "model": model, "k": K, "k_per_dataset": N}
    return {**own, "shard_size": 37, "activation_sample": 1_000, "workers": 2, "keep_partials": True, **more}


def score(out: Path, corpus: tuple[str, ...], model: str, **more: Any) -> Path:
    topk.JOB.run(TopkConfig.model_validate(options(out, corpus, model, **more)))
    return out


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory, corpus: tuple[str, ...], model: str) -> Path:
    return score(tmp_path_factory.mktemp("runs") / "a", corpus, model)


def rows_of(out: Path) -> list[tuple[Any, ...]]:
    found = pq.read_table(out / "topk_by_dataset")
    return list(zip(*(found[name].to_pylist() for name in found.column_names), strict=True))


def brute(out: Path, n: int = N, poles: tuple[str, ...] = ("bottom", "top")) -> list[tuple[Any, ...]]:
    """What sorting the activations of all sentences of each data set gives; the activation sample is all of them."""
    from jobs.run_folder.run import Run

    store = Run(str(out), create=False).store
    corpus = pq.read_table(out / "corpus", columns=["sent_id", "dataset"])
    of = np.array(corpus["dataset"].to_pylist(), object)
    names = sorted(name for name in set(of) if (of == name).sum() >= 20 * n)
    rows: list[tuple[Any, ...]] = []
    for layer in read_neurons(store).layers:
        values = dense(read_layer(store, layer))
        assert len(values) == len(of)
        for unit, own in enumerate(values.T):
            for pole in poles:
                for name in names:
                    ids = np.flatnonzero(of == name)
                    order = np.argsort(-own[ids] if pole == "top" else own[ids], kind="stable")[:n]
                    ranked = enumerate(ids[order].tolist(), 1)
                    rows += [(layer, unit, pole, name, rank, float(own[i]), i) for rank, i in ranked]
    return rows


def test_the_rows_are_what_sorting_gives_within_each_data_set(scored: Path) -> None:
    assert rows_of(scored) == brute(scored)
    assert len({row[3] for row in rows_of(scored)} - {"few"}) == len(ASKED) == 3
    run = json.loads((scored / "run.json").read_text())
    assert run["stages"]["topk"]["identity"]["k_per_dataset"] == N
    assert sorted(run["stages"]["topk"]["counts"]["datasets"].values()) == [100, 110, 120]


@pytest.mark.parametrize(
    "more", [{"workers": 1}, {"no_sharing": True}, {"seed": 7}, {"shard_size": 500}], ids=lambda more: next(iter(more))
)
def test_however_it_ran_the_rows_are_the_same(
    scored: Path, corpus: tuple[str, ...], model: str, tmp_path: Path, more: dict[str, Any]
) -> None:
    other = score(tmp_path / "b", corpus, model, **more)
    if "shard_size" in more:  # other batches: the last digits differ
        assert rows_of(other) == brute(other)
    else:
        assert rows_of(other) == rows_of(scored)
    if more in ({"workers": 1}, {"no_sharing": True}):
        assert pq.read_table(other / "topk").equals(pq.read_table(scored / "topk"))


def test_none_leaves_no_table_and_the_winners_as_they_were(
    scored: Path, corpus: tuple[str, ...], model: str, tmp_path: Path
) -> None:
    other = score(tmp_path / "b", corpus, model, k_per_dataset=0)
    assert not (other / "topk_by_dataset").exists()
    for table in ("topk", "neurons", "activations"):
        assert pq.read_table(other / table).equals(pq.read_table(scored / table))
    assert "k_per_dataset" not in json.loads((other / "run.json").read_text())["stages"]["topk"]["identity"]
    with pytest.raises(InputError, match=r"other options: k_per_dataset \(was 0, is 5\)"):
        score(other, corpus, model)
    score(other, corpus, model, redo=True, poles="top")
    assert rows_of(other) == brute(other, poles=("top",))
    score(other, corpus, model, redo=True, k_per_dataset=0)
    assert not (other / "topk_by_dataset").exists()


def test_more_than_twenty_data_sets_are_refused_before_anything_is_scored(
    model: str, tmp_path: Path, texts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(21):
        lines = [{"text": f"{text} {number}"} for text in texts[:20]]
        (tmp_path / f"{number}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = ["--out", tmp_path / "run", "--model", model, "--split", "none", "--k-per-dataset", 1]
    for number in range(21):
        given += ["--corpus", tmp_path / f"{number}.jsonl"]
    for dry in ((), ("--dry-run",)):
        assert topk.JOB.main([*map(str, given), *dry]) == 2
        said = capsys.readouterr().err.strip().splitlines()[-1]
        assert "--k-per-dataset 1: 21 data sets have at least 20 sentences" in said
        assert said.endswith("give 2 or more, or 0 to turn it off")
    assert not (tmp_path / "run" / "_partials" / "topk").exists()


@pytest.mark.slow
def test_annotate_covers_them_and_mine_takes_the_winners_of_topk(
    corpus: tuple[str, ...], model: str, tmp_path: Path
) -> None:
    """With a small baseline and sample, sentences that win only within their data set are annotated for that alone."""
    small = {"k": 2, "activation_sample": 3, "baseline_size": 20, "workers": 1, "no_tokens": True, "no_explain": True}
    outs = {n: tmp_path / str(n) for n in (0, N)}
    for n, out in outs.items():
        given = options(out, corpus, model, k_per_dataset=n, **small)
        run_job.JOB.run(run_job.RunConfig.model_validate({**given, "null_sets": 2, "min_count": 1}))
    sentences = f"select * exclude (words, tags, tree) from '{outs[N]}/sentences/*.parquet'"
    within = f"select distinct sent_id from '{outs[N]}/topk_by_dataset/*.parquet'"
    assert duckdb.sql(f"select count(*) from ({within}) anti join ({sentences}) using (sent_id)").fetchall() == [(0,)]
    alone = duckdb.sql(
        f"select is_winner, wins from ({sentences}) semi join ({within}) using (sent_id) "
        f"anti join '{outs[N]}/topk/*.parquet' using (sent_id)"
    ).fetchall()
    assert set(alone) == {(False, 0)}
    by_id = [
        {row["sent_id"]: row for row in pq.read_table(out / "sentences").to_pylist()} for out in (outs[0], outs[N])
    ]
    assert len(by_id[1]) > len(by_id[0])
    for sent_id, row in by_id[0].items():
        assert by_id[1][sent_id] == row
    assert not any(row["is_winner"] or row["is_baseline"] for i, row in by_id[1].items() if i not in by_id[0])
    # Which affixes are productive depends on the words of all annotated sentences.
    kept = ~pc.field("property").isin(["prefix", "suffix"])
    for table, filters in (("patterns", None), ("profiles", kept), ("means", None)):
        more, own = (pq.read_table(outs[n] / table, filters=filters) for n in (N, 0))
        assert more.equals(own), table


def test_a_dry_run_counts_disk_and_memory(
    corpus: tuple[str, ...], model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], scored: Path
) -> None:
    said = {}
    for n in (0, N):
        capsys.readouterr()
        topk.JOB.run(
            TopkConfig.model_validate(options(tmp_path / "none", corpus, model, k_per_dataset=n, dry_run=True))
        )
        said[n] = capsys.readouterr().out
    assert "topk_by_dataset/" not in said[0]
    assert "topk_by_dataset/" in said[N]
    assert "the first 5 within 3 data sets: " in said[N]
    assert "fewer than 100 sentences: few" in said[N]
    assert all("of each worker's memory" in own for own in said.values())
    annotate.JOB.run(AnnotateConfig(out=str(scored), dry_run=True))
    assert ", 390 of 390 sentences" in capsys.readouterr().out
