"""The job explain: planted units are found, tables can be recomputed, and whatever a run lacks is said in one line."""

import json
import re
import runpy
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.explain import NUISANCE
from bench.planted import PLANTED, write_planted
from jobs.explain import job as explain
from jobs.explain import steps
from jobs.explain.job import ExplainConfig
from jobs.run import job as run_job
from jobs.run.job import RunConfig
from ops.errors import InputError
from tests.conftest import ROOT
from tests.jobs.finished_runs.main import config
from tests.jobs.in_process import InProcess, Stopped

ON, SENTENCES = 60, 1_400
PAGE, RECOMPUTE = (ROOT / "docs" / "explanations.md").read_text(encoding="utf-8"), ROOT / "docs" / "recompute"
TABLES = ("explanations", "explanation_terms", "explanation_folds", "families", "examples", "explain/controls")


def run_planted(folder: Path, sentences: int, on: int) -> Path:
    """Run the main job on the planted model, K being the sentences in which each function is on."""
    model, corpus = write_planted(folder, sentences, on)
    options = {"out": str(folder / "main"), "model": str(model), "corpus": (str(corpus),), "split": "none", "k": on}
    more = {"site": "mlp", "pool": "last", "activation_sample": sentences, "workers": 1, "no_tokens": True}
    run_job.JOB.run(RunConfig.model_validate({**options, **more, "keep_partials": True}))
    return folder / "main"


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_planted(tmp_path_factory.mktemp("planted"), SENTENCES, ON)


def rows(run: Path, table: str, where: str = "true") -> list[dict[str, Any]]:
    found = duckdb.sql(f"from '{run}/{table}/*.parquet' where {where}").to_arrow_table().to_pylist()
    return list(found)


@pytest.mark.parametrize("own", PLANTED[:6], ids=lambda own: own.name)
def test_what_was_planted_is_found(planted: Path, own: Any) -> None:
    where = f"layer = 2 and unit = {own.unit} and pole = 'top'"
    (row,) = rows(planted, "explanations", where)
    assert row["verdict"] == "rule"
    assert row["f1"] >= 0.9
    assert row["margin_low"] > 0
    assert row["folds"] == 10
    terms = rows(planted, "explanation_terms", f"{where} and model = 'winners' order by rank")
    assert terms[0]["pattern"] in own.literals or set(terms[0]["items"]) & set(own.literals), terms[0]
    assert not terms[0]["negated"]
    assert terms[0]["stability"] == 10
    if own.negated:
        assert (own.negated, True) in {(term["pattern"], term["negated"]) for term in terms}


def test_length_is_a_source_and_noise_is_nothing(planted: Path) -> None:
    verdicts = {row["unit"]: row["verdict"] for row in rows(planted, "explanations", "layer = 2 and pole = 'top'")}
    for own in PLANTED[6:]:
        assert verdicts[own.unit] in own.verdicts, own


def test_tables_hold_together(planted: Path) -> None:
    explanations = rows(planted, "explanations")
    assert len(explanations) == 2 * 2 * len(PLANTED)
    leaders = rows(planted, "families", "is_leader")
    assert {row["family"] for row in leaders} == set(range(len(leaders)))
    counted = dict.fromkeys(((row["layer"], row["unit"], row["pole"]) for row in explanations), 0)
    for term in rows(planted, "explanation_terms", "model = 'winners'"):
        counted[term["layer"], term["unit"], term["pole"]] += 1
        assert len(term["sent_ids"]) <= 3
    assert all(counted[row["layer"], row["unit"], row["pole"]] == row["literals"] for row in explanations)
    per_neuron = duckdb.sql(
        f"select count(*) as n from '{planted}/examples/*.parquet' where quantile is not null "
        "group by layer, unit, quantile"
    ).fetchall()
    assert {n for (n,) in per_neuron} == {5}
    bases = {row["basis"] for row in rows(planted, "explain/controls", "model = 'activation' and layer = 2")}
    assert bases == {"neurons", "rotated", "shuffled"}
    (shuffled,) = rows(
        planted,
        "explain/controls",
        "layer = 2 and basis = 'shuffled' and model = 'activation' and measure = 'r2_beyond'",
    )
    assert shuffled["mean"] < 0.02


def test_cards_of_folds_are_a_part_of_each_explanation(planted: Path) -> None:
    """Each fold has one card, nuisance first, of at most as many findings as the longest; votes are of the folds."""
    folds = defaultdict(list)
    for row in rows(planted, "explanation_folds", "true order by rank"):
        folds[key(row), row["fold"]].append(row)
    for own in folds.values():
        assert [row["rank"] for row in own] == list(range(1, len(own) + 1))
        assert len({(row["intercept"], row["threshold"]) for row in own}) == 1
        assert all((row["weight"] < 0) == row["negated"] for row in own)
        is_nuisance = [row["kind"] in NUISANCE for row in own]
        assert is_nuisance == sorted(is_nuisance, reverse=True)
    for term in rows(planted, "explanation_terms", "model = 'winners'"):
        same = {(term["kind"], *term["items"])}
        cards = [folds[key(term), fold] for fold in range(10)]
        votes = sum(any((row["kind"], *row["items"]) in same for row in own) for own in cards)
        assert votes <= term["stability"]
        assert term["stability"] >= 5 or term["kind"] in NUISANCE
        assert votes == term["stability"] or term["also"]


@pytest.mark.parametrize("which", ["planted", "small"])
def test_f1_is_recomputed_from_the_cards_of_the_folds(
    which: str,
    planted: Path,
    explain_run: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the documented query and by the documented program."""
    run = planted if which == "planted" else explain_run[0]
    query = (RECOMPUTE / "score_card.sql").read_text(encoding="utf-8")
    table, again = duckdb.sql(query.replace("runs/small", str(run))).fetchall()
    assert again[1:] == pytest.approx(table[1:], abs=1e-9)
    monkeypatch.setattr("sys.argv", ["score_card.py", str(run)])
    names = runpy.run_path(str(RECOMPUTE / "score_card.py"))
    assert names["again"] == pytest.approx([names["row"][name] for name in ("precision", "recall", "f1")], abs=1e-9)
    assert capsys.readouterr().out


@pytest.mark.parametrize("query", re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL))
def test_every_query_of_the_page_finds_something(planted: Path, query: str) -> None:
    assert duckdb.sql(query.replace("runs/small", str(planted)).replace("unit = 8", "unit = 0")).fetchall()


def test_hard_negatives_are_those_of_a_plain_program(planted: Path, explain_run: tuple[Path, Path]) -> None:
    """The literals are asked by the documented program, and each threshold is found again on all sentences."""
    assert checked_negatives(planted)[5] > 0
    counts = checked_negatives(explain_run[0])
    assert counts[5] >= 5
    assert len(counts) >= 3, "some poles have fewer"


def checked_negatives(run: Path) -> Counter[int]:
    """Check the hard negatives of a run, and return how many poles have how many."""
    known: dict[str, Any] = {}
    program = (ROOT / "docs" / "recompute" / "score_card.py").read_text(encoding="utf-8")
    exec(program.partition("wins = ")[0].replace("sys.argv[1]", repr(str(run))), known)
    every = rows(run, "sentences", "true order by sent_id")
    sample = rows(run, "activations", "true order by sent_id")
    asked: dict[tuple[str, ...], np.ndarray[Any, Any]] = {}
    (neuron,) = {row["n"] for row in rows(run, "neurons")}
    counts = Counter[int]()
    with_hub = {key(term) for term in rows(run, "explanation_terms", "kind = 'hub'")}
    for row in rows(run, "explanations"):
        own = f"layer = {row['layer']} and unit = {row['unit']}"
        of_pole = f"{own} and pole = '{row['pole']}'"
        found = rows(run, "examples", f"{of_pole} and quantile is null order by rank")
        assert [one["rank"] for one in found] == list(range(1, len(found) + 1))
        assert len(found) == 0 or row["literals"] > 0
        if key(row) in with_hub or not row["literals"]:
            continue
        score = np.zeros(len(every))
        for term in rows(run, "explanation_terms", f"{of_pole} and model = 'winners'"):
            name = (term["kind"], *term["items"])
            if name not in asked:
                asked[name] = np.array([bool(known["has"](term, sentence)) for sentence in every])
            score += term["weight"] * asked[name]
        score = np.round(score, 6)
        won = {w["sent_id"] for w in rows(run, "topk", of_pole)}
        least = threshold(score, every, won, neuron)
        won |= {w["sent_id"] for w in rows(run, "topk", own)}
        heights = np.array([one[f"layer_{row['layer']}"][row["unit"]] for one in sample], np.float64)
        heights *= 1 if row["pole"] == "top" else -1
        place = {sentence["sent_id"]: i for i, sentence in enumerate(every)}
        middle = np.median(heights)
        expected = sorted(
            (-score[place[one["sent_id"]]], height, one["sent_id"])
            for one, height in zip(sample, heights, strict=True)
            if height <= middle and one["sent_id"] not in won and score[place[one["sent_id"]]] > least
        )
        assert [one["sent_id"] for one in found] == [sent_id for *_, sent_id in expected[:5]], row["text"]
        activations = [height if row["pole"] == "top" else -height for _, height, _ in expected[:5]]
        assert [one["activation"] for one in found] == activations
        counts[len(found)] += 1
    return counts


def key(row: dict[str, Any]) -> tuple[int, int, str]:
    return row["layer"], row["unit"], row["pole"]


def threshold(score: np.ndarray[Any, Any], every: list[dict[str, Any]], won: set[int], scored: int) -> float:
    """The score that a sentence must exceed to be called a winner, halfway between two that sentences have."""
    training = [i for i, s in enumerate(every) if s["is_baseline"] or s["sent_id"] in won]
    wins = np.array([every[i]["sent_id"] in won for i in training])
    others = [s for s in every if s["is_baseline"] and s["sent_id"] not in won]
    weight = np.where(wins, 1.0, (scored - len(won)) / len(others))
    own = score[training]
    levels = np.unique(own)
    f1 = [2 * wins[own >= level].sum() / (wins.sum() + weight[own >= level].sum()) for level in levels]
    best = max(range(len(levels)), key=lambda i: (round(f1[i], 12), levels[i]))
    return float(levels[best] + levels[best - 1]) / 2 if best else -np.inf


def again(run: Path, **options: Any) -> None:
    explain.JOB.run(ExplainConfig.model_validate({"out": str(run), "workers": 1, **options}))


def do_item_by_item(monkeypatch: pytest.MonkeyPatch, do: Callable[[], None]) -> None:
    """Do one item of a job and stop it, again and again until the job is done; no item may be done twice."""
    engine = InProcess()
    monkeypatch.setattr("jobs.stage.runner.fan_out", engine)
    for calls in range(60):
        engine.most = 1
        with suppress(Stopped):
            do()
            assert calls > 1
            return
    pytest.fail("finished items are done again")


def test_cut_off_amid_the_ranges_it_goes_on_with_the_rest(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after kill -9: what was committed stays, and the tables are the same in the end."""
    run = tmp_path / "run"
    shutil.copytree(planted, run)
    monkeypatch.setattr("jobs.explain.steps.neuron_ranges", halves)
    do_item_by_item(monkeypatch, lambda: again(run, redo=True))
    for table in TABLES:
        assert rows(run, table) == rows(planted, table)


def halves(neurons: int, k: int) -> list[dict[str, int]]:
    middle = neurons // 2
    return [{"range": 0, "first": 0, "stop": middle}, {"range": 1, "first": middle, "stop": neurons}]


@pytest.mark.parametrize("on", [ON, pytest.param(12, marks=pytest.mark.slow)])
def test_two_workers_and_another_order_of_ranges_give_the_same_rows(
    on: int, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with few winners, of which no verdict can be given."""
    whole, run = planted, tmp_path / "run"
    if on != ON:
        whole = run_planted(tmp_path, 13 * on + 44, on)
        assert {row["verdict"] for row in rows(whole, "explanations")} == {"weak"}
    shutil.copytree(whole, run)
    monkeypatch.setattr("jobs.stage.runner.fan_out", InProcess())
    monkeypatch.setattr("jobs.explain.steps.neuron_ranges", halves)
    monkeypatch.setattr("jobs.explain.steps.FEW_NEURONS", 0)
    steps_of = steps.steps_of
    monkeypatch.setattr(
        steps, "steps_of", lambda *given: [replace(step, items=step.items[::-1]) for step in steps_of(*given)]
    )
    again(run, redo=True, workers=2)
    for table in TABLES:
        assert rows(run, table) == rows(whole, table), table


def test_units_with_the_same_winners_have_the_same_scores(planted: Path, tmp_path: Path) -> None:
    """No draw depends on a unit's number, so unit 9 gets the scores of the planted unit 5 with its winners."""
    run = tmp_path / "run"
    shutil.copytree(planted, run)
    record = json.loads((run / "run.json").read_text())
    for file in record["tables"]["topk"]:
        table = pq.read_table(run / file["name"])
        given = table.to_pylist()
        winners = {row["rank"]: row["sent_id"] for row in given if key(row) == (2, 5, "top")}
        ids = [winners[row["rank"]] if winners and key(row) == (2, 9, "top") else row["sent_id"] for row in given]
        place = table.schema.get_field_index("sent_id")
        pq.write_table(table.set_column(place, table.schema.field("sent_id"), pa.array(ids)), run / file["name"])
        file["bytes"] = (run / file["name"]).stat().st_size
    (run / "run.json").write_text(json.dumps(record))
    again(run, redo=True, units=("2:5", "2:9"), no_controls=True)
    scores = (
        "f1",
        "f1_low",
        "f1_high",
        "average_precision",
        "matched_f1",
        "margin_low",
        "folds",
        "single_f1",
        "verdict",
    )
    one, other = rows(run, "explanations", "pole = 'top'")
    assert [one[name] for name in scores] == [other[name] for name in scores]
    assert one["verdict"] == "rule"


def test_some_units_alone(planted: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(planted, run)
    again(run, redo=True, units=("2:3", "2:0"), no_controls=True)
    whole = {(row["unit"], row["pole"]): row for row in rows(planted, "explanations", "layer = 2")}
    found = rows(run, "explanations")
    assert [(row["layer"], row["unit"]) for row in found] == [(2, 0), (2, 0), (2, 3), (2, 3)]
    for row in found:
        assert row | {"family": 0} == whole[row["unit"], row["pole"]] | {"family": 0}
    with pytest.raises(InputError, match="there is no such neuron"):
        again(run, redo=True, units=("2:99",))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"activation_sample": 0}, "no activation sample"),
        pytest.param({"k": 200}, "more than half of the corpus", marks=pytest.mark.slow),
        pytest.param({"no_scores": True, "poles": "top"}, "", marks=pytest.mark.slow),
        ({"pipeline": "blank", "limit": 60}, ""),
    ],
    ids=["no sample", "K of half", "no scores, one pole", "no tags"],
)
def test_whatever_a_run_lacks(
    options: dict[str, Any],
    told: str,
    source: Path,
    tmp_path: Path,
    make_model: Callable[..., Path],
    small_bert: object,
    capsys: pytest.CaptureFixture[str],
) -> None:
    values = {"model": str(make_model(small_bert)), "workers": 1, "no_explain": False, "activation_sample": 300}
    run_job.JOB.run(config(tmp_path / "run", source, **{**values, **options}))
    assert told in capsys.readouterr().err
    found = rows(tmp_path / "run", "explanations")
    assert found
    if options.get("activation_sample") == 0:
        assert {row["r2"] for row in found} == {None}
    if options.get("k"):
        assert {row["literals"] for row in found} == {0}
        assert {row["verdict"] for row in found} == {"weak"}
    if options.get("poles"):
        assert {row["pole"] for row in found} == {"top"}


def test_one_document_has_no_test_half(
    texts: list[str], tmp_path: Path, make_model: Callable[..., Path], small_bert: object
) -> None:
    source = tmp_path / "one.jsonl"
    source.write_text("".join(json.dumps({"text": t, "doc_id": "d"}) + "\n" for t in texts[:150]), encoding="utf-8")
    values = {"model": str(make_model(small_bert)), "workers": 1, "no_explain": False, "k": 20}
    run_job.JOB.run(config(tmp_path / "run", source, **values))
    found = rows(tmp_path / "run", "explanations")
    assert {row["verdict"] for row in found} == {"weak"}
    assert {row["f1_low"] for row in found} == {None}
