"""The job audit: planted units get their verdicts, tables can be recomputed, and bad input is said in one line."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from jobs.audit import job as audit
from jobs.audit.job import AuditConfig
from jobs.audit.steps import audited_datasets
from ops.errors import InputError
from tests.jobs.finished_runs.audit import audit_planted
from tests.jobs.planted_datasets import EVERYWHERE, HERE_AND_THERE, THE_DATASET
from tests.jobs.test_explain import do_item_by_item

TABLES = ("portability", "patterns", "neurons")
DATASETS = ["first", "second", "third"]


@pytest.fixture(scope="session")
def planted(audit_run: tuple[Path, Path]) -> Path:
    return audit_run[0]


def rows(run: Path, table: str, where: str = "true") -> list[dict[str, Any]]:
    found = duckdb.sql(f"from '{run}/audit/{table}/*.parquet' where {where}").to_arrow_table().to_pylist()
    return list(found)


def where(unit: int, more: str = "true") -> str:
    return f"layer = 2 and unit = {unit} and pole = 'top' and {more}"


def neuron(run: Path, unit: int) -> dict[str, Any]:
    (row,) = rows(run, "neurons", where(unit))
    return row


def test_a_word_that_counts_everywhere_is_global(planted: Path) -> None:
    row = neuron(planted, EVERYWHERE)
    assert row["verdict"] == "global"
    assert row["holds_in"] == row["found_in"] == DATASETS
    assert row["transfer"] == pytest.approx(1, abs=0.05)
    assert row["illusion_low"] <= 0.02
    (term,) = rows(planted, "patterns", where(EVERYWHERE, "pattern = 'lantern'"))
    assert (term["verdict"], term["significant"], term["dataset_names"]) == ("global", 3, DATASETS)


def test_another_word_in_each_data_set_is_local(planted: Path) -> None:
    row = neuron(planted, HERE_AND_THERE)
    assert row["verdict"] == "local"
    assert row["ported"] == 0
    assert row["found_in"] == DATASETS[:2]
    assert row["transfer"] == pytest.approx(0, abs=0.1)
    (word,) = rows(planted, "patterns", where(HERE_AND_THERE, "pattern like '%harbour%' and model = 'winners'"))
    assert word["verdict"] == "local"
    assert word["log_lifts_low"][0] > 1
    assert word["log_lifts"][2] is None  # no sentence there has it


def test_a_unit_that_follows_the_data_set_is_its_detector(planted: Path) -> None:
    row = neuron(planted, THE_DATASET)
    assert row["verdict"] == "dataset_detector"
    assert row["eta_squared"] == pytest.approx(1, abs=0.01)
    first, *others = rows(planted, "patterns", where(THE_DATASET, "model = 'winners'"))
    assert (first["pattern"], first["verdict"], first["folds"]) == ("dataset: third", "dataset", 10)
    assert all(term["negated"] and term["mantel_haenszel"] < 2 for term in others)


@pytest.mark.slow
def test_a_mark_of_a_data_set_pooled_by_mean_is_its_detector(tmp_path: Path) -> None:
    """Within the data set short sentences win, because the mark is a larger part of them."""
    run = audit_planted(tmp_path, "mean")
    assert neuron(run, THE_DATASET)["verdict"] == "dataset_detector"
    terms = rows(run, "patterns", where(THE_DATASET, "model = 'winners' and mantel_haenszel_low > 1"))
    assert {term["kind"] for term in terms} == {"length"}


def test_noise_is_nothing(planted: Path) -> None:
    noise = rows(planted, "neurons", "layer = 2 and unit >= 7")
    assert {row["verdict"] for row in noise} <= {"none", "local"}
    assert np.mean([row["verdict"] == "none" for row in noise]) >= 0.8
    assert not any(row["ported"] for row in noise)


def test_permuted_over_documents_a_finding_is_the_same_everywhere(planted: Path) -> None:
    for unit in (EVERYWHERE, HERE_AND_THERE):
        (row,) = rows(planted, "neurons_controls", where(unit, "control = 'permuted'"))
        assert row["illusion_low"] - 0.02 <= 0 <= row["illusion_high"] + 0.02
        assert row["illusion"] == pytest.approx(0, abs=0.25)
    (row,) = rows(planted, "neurons_controls", where(THE_DATASET, "control = 'permuted'"))
    assert row["eta_squared"] < 0.02
    halves = rows(
        planted,
        "portability_controls",
        where(HERE_AND_THERE, "control = 'halves'"),
    )
    assert {row["dataset_from"].partition(",")[0] == row["dataset_to"].partition(",")[0] for row in halves} == {True}
    assert len(halves) == 3 * 4


def test_transfer_can_be_recomputed_from_the_precisions(planted: Path) -> None:
    pairs = {(row["dataset_from"], row["dataset_to"]): row for row in rows(planted, "portability", where(EVERYWHERE))}
    gain = {key: row["average_precision"] - row["random_precision"] for key, row in pairs.items()}
    for (start, to), row in pairs.items():
        if start == to:
            assert row["transfer"] is None
        else:
            assert row["transfer"] == pytest.approx(gain[start, to] / gain[to, to])
            assert row["transfer_low"] <= row["transfer"] <= row["transfer_high"]
    above = sum(value for (start, to), value in gain.items() if start != to)
    assert neuron(planted, EVERYWHERE)["transfer"] == pytest.approx(above / sum(2 * gain[d, d] for d in DATASETS))


def test_how_many_data_sets_a_unit_follows_is_the_share_of_its_variance(planted: Path) -> None:
    sample = duckdb.sql(
        f"select layer_2[{HERE_AND_THERE + 1}] as value, dataset from '{planted}/activations/*.parquet' "
        f"join '{planted}/sentences/*.parquet' using (sent_id)"
    ).fetchall()
    values = np.array([value for value, _ in sample])
    names = np.array([name for _, name in sample])
    between = sum(np.sum(names == d) * (values[names == d].mean() - values.mean()) ** 2 for d in DATASETS)
    row = neuron(planted, HERE_AND_THERE)
    assert row["eta_squared"] == pytest.approx(between / np.sum((values - values.mean()) ** 2))
    assert row["eta_squared_low"] <= row["eta_squared"] <= row["eta_squared_high"]


def again(run: Path, **options: Any) -> None:
    audit.JOB.run(AuditConfig.model_validate({"out": str(run), "workers": 1, **options}))


@pytest.mark.slow
def test_cut_off_amid_the_ranges_it_goes_on_with_the_rest(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after kill -9: what was committed stays, and the tables are the same in the end."""
    run = tmp_path / "run"
    shutil.copytree(planted, run)
    monkeypatch.setattr("jobs.audit.steps.NEURONS_PER_RANGE", 16)
    do_item_by_item(monkeypatch, lambda: again(run, redo=True))
    for table in TABLES:
        assert rows(run, table) == rows(planted, table)
        assert rows(run, f"{table}_controls") == rows(planted, f"{table}_controls")


def test_some_units_without_controls(planted: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(planted, run)
    again(run, redo=True, units=("2:1", "2:0"), no_controls=True)
    assert rows(run, "neurons") == rows(planted, "neurons", "layer = 2 and unit < 2")
    assert not rows(run, "neurons_controls")
    with pytest.raises(InputError, match="there is no such neuron"):
        again(run, redo=True, units=("2:99",))


def test_without_winners_by_data_set_those_of_the_corpus_are_used(
    planted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(planted, run)
    record = json.loads((run / "run.json").read_text())
    record["stages"]["topk"]["identity"]["k_per_dataset"] = 0
    del record["tables"]["topk_by_dataset"]
    (run / "run.json").write_text(json.dumps(record))
    shutil.rmtree(run / "topk_by_dataset")
    again(run, redo=True)
    assert "the winners of the whole corpus are used" in capsys.readouterr().err
    winners = duckdb.sql(
        f"select dataset, count(*) from '{run}/topk/*.parquet' join '{run}/sentences/*.parquet' using (sent_id) "
        f"where layer = 2 and unit = {EVERYWHERE} and pole = 'top' group by dataset having count(*) >= 20"
    ).fetchall()
    assert neuron(run, EVERYWHERE)["datasets"] == len(winners) > 0


def test_the_dry_run_says_what_would_be_done(planted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again(planted, dry_run=True, redo=True)
    assert "neurons: 1 of 1 ranges of neurons" in capsys.readouterr().out
    again(planted)
    assert "64 neurons and poles" in capsys.readouterr().err


class _Record:
    def __init__(self, k: int, sources: dict[str, int]) -> None:
        first = np.cumsum([0, *sources.values()]).tolist()
        listed = [
            {"dataset": name, "kept": kept, "first_sent_id": start}
            for (name, kept), start in zip(sources.items(), first, strict=False)
        ]
        self._entries = {
            "topk": {"identity": {"k_per_dataset": k}, "config": {"out": "x", "k_per_dataset": k}},
            "ingest": {"counts": {"sources": listed}},
        }

    def require(self, name: str) -> Any:
        return self._entries[name]


@pytest.mark.parametrize(
    ("k", "sources", "told"),
    [
        (25, {"one": 9_000}, "the corpus has 1 data set; an audit compares at least two"),
        (25, {"one": 9_000, "few": 499}, r"fewer than two have 500 sentences \(20 sentences for each winner\)"),
        (0, {"one": 9_000, "few": 399}, "fewer than two have 400 sentences"),
    ],
)
def test_too_few_data_sets_are_refused_in_one_line(k: int, sources: dict[str, int], told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        audited_datasets("runs/x", _Record(k, sources))  # type: ignore[arg-type]
    assert ("--k-per-dataset 24" in str(refused.value)) == (k > 0 and len(sources) > 1)
    assert "\n" not in str(refused.value)


def test_a_run_without_explanations_is_told_how_to_get_them(planted: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(planted, run)
    record = json.loads((run / "run.json").read_text())
    del record["stages"]["explain"]
    (run / "run.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"explanations/ is missing; run atlas explain"):
        again(run)
