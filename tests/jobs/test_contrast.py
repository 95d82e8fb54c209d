"""The job contrast: what was planted ranks first, tables can be recomputed, and bad input is said in one line."""

import html
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from sklearn.metrics import roc_auc_score

from jobs.browse.server import Browser
from jobs.contrast import job as contrast
from jobs.contrast.job import ContrastConfig
from jobs.report import job as report
from jobs.report.job import ReportConfig
from jobs.show import job as show
from jobs.topk import job as topk
from jobs.topk.job import TopkConfig
from ops.errors import InputError
from ops.storage.store import Store
from tests.jobs.finished_runs.contrast import SENTENCES, WORD, probe_quickly
from tests.jobs.test_dictionaries import FEATURES, LAYER, sparse_dictionary
from tests.jobs.test_explain import do_item_by_item

TABLES = ("units", "probes", "controls")
GROUP = f"word={WORD}"


@pytest.fixture(autouse=True)
def _quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "on_ray" not in request.fixturenames:  # workers on Ray are processes of their own
        probe_quickly(monkeypatch)


@pytest.fixture(scope="session")
def whole(contrast_run: tuple[Path, Path]) -> Path:
    return contrast_run[0]


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def rows(run: Path, table: str, where: str = "true") -> list[dict[str, Any]]:
    found = duckdb.sql(f"from '{run}/contrast/{table}/*.parquet' where {where}").to_arrow_table().to_pylist()
    return list(found)


def again(run: Path, **options: Any) -> None:
    contrast.JOB.run(ContrastConfig.model_validate({"out": str(run), "workers": 1, "redo": True, **options}))


def test_the_unit_that_follows_the_word_ranks_first(whole: Path) -> None:
    (first,) = rows(whole, "units", f"\"group\" = '{GROUP}' and rank = 1")
    assert (first["layer"], first["unit"], first["auc"], first["matched_auc"]) == (2, 0, 1, 1)
    assert first["p_family"] == pytest.approx(1 / 1_001)
    assert first["q_value"] < 1e-6
    assert first["difference"] > 2
    (mirrored,) = rows(whole, "units", "\"group\" = 'word=other' and layer = 2 and unit = 0")
    assert (mirrored["rank"], mirrored["auc"], mirrored["n_a"]) == (1, 0, first["n_b"])


def test_units_can_be_recomputed(whole: Path) -> None:
    sample = duckdb.sql(
        f"select a.layer_2 as own, c.meta.half as half, c.doc_id from '{whole}/activations/*.parquet' a "
        f"join '{whole}/corpus/*.parquet' c using (sent_id) where c.meta.half is not null order by sent_id"
    ).to_arrow_table()
    values = np.array(sample["own"].to_pylist())
    is_a = np.array([half == "even" for half in sample["half"].to_pylist()])
    documents = np.array(sample["doc_id"].to_pylist())
    std = {row["unit"]: row["std"] for row in pq.read_table(whole / "neurons").to_pylist() if row["layer"] == 2}
    found = rows(whole, "units", "\"group\" = 'half=even' and layer = 2")
    assert len(found) == 16
    for row in found:
        own = values[:, row["unit"]]
        assert row["auc"] == pytest.approx(roc_auc_score(is_a, own), abs=1e-6)
        assert (row["n_a"], row["n_b"]) == (is_a.sum(), (~is_a).sum())
        assert row["documents_a"] == len(set(documents[is_a]))
        expected = (own[is_a].mean() - own[~is_a].mean()) / std[row["unit"]]
        assert row["difference"] == pytest.approx(expected, abs=1e-5)
        assert row["auc_low"] <= row["auc"] <= row["auc_high"]
        assert row["active_a"] is None
    ranks = sorted(row["rank"] for row in rows(whole, "units", "\"group\" = 'half=even'"))
    assert ranks == list(range(1, len(ranks) + 1))


def test_a_key_without_meaning_separates_nothing(whole: Path) -> None:
    assert all(row["q_value"] > 0.05 for row in rows(whole, "units", "\"group\" like 'half=%'"))
    assert all(row["p_family"] > 0.05 for row in rows(whole, "units", "\"group\" like 'half=%'"))


def test_probes_and_controls_hold_together(whole: Path) -> None:
    probes = rows(whole, "probes", f"\"group\" = '{GROUP}'")
    chosen = {(row["basis"], row["k"]): row for row in probes if row["layer"] is None}
    assert chosen["units", 1]["auc"] == chosen["words", None]["auc"] == 1
    assert chosen["units", 1]["over_rotated_low"] > 0
    assert chosen["rotated", 1]["auc_low"] <= chosen["rotated", 1]["auc"] <= chosen["rotated", 1]["auc_high"] < 1
    of_layer = {(row["layer"], row["basis"], row["k"]) for row in probes if row["layer"] is not None}
    ks = [(basis, k) for basis in ("units", "rotated") for k in (1, 2, 4, 8, 16)]
    assert of_layer >= {(2, *own) for own in [*ks, ("layer", None)]}
    for row in probes:
        assert (row["over_words"] is None) == (row["basis"] != "units")
        if row["basis"] == "units":
            assert row["over_words"] == pytest.approx(row["auc"] - chosen["words", None]["auc"], abs=1e-9)
    controls = {
        (row["layer"], row["control"], row["measure"]): row for row in rows(whole, "controls", f"\"group\" = '{GROUP}'")
    }
    assert {control for _, control, _ in controls} == {"units", "rotated", "permuted"}
    assert controls[2, "permuted", "significant"]["mean"] <= 0.2
    units = [row["matched_auc"] for row in rows(whole, "units", f"\"group\" = '{GROUP}' and layer = 2")]
    assert controls[2, "units", "matched_auc"]["mean"] == pytest.approx(np.mean(units), abs=1e-6)
    assert controls[2, "units", "matched_auc"]["q75"] == pytest.approx(np.quantile(units, 0.75), abs=1e-6)


def test_the_first_line_compares_units_with_rotated_axes_and_words(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again(copy, a=(f"word={WORD}",), b=("word=other", "half=odd"))
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{GROUP}: one unit (AUC 1.00) does better than one rotated axis (")
    assert "no better than words (1.00)" in first
    show.JOB.run(show.ShowConfig(out=str(copy), contrast=True))
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith(first)
    assert "2:0 1.000 1.000" in printed
    show.JOB.run(show.ShowConfig(out=str(copy), contrast=True, format="json"))
    facts = json.loads(capsys.readouterr().out)
    assert facts["sentences"] == [first]
    show.JOB.run(show.ShowConfig(out=str(copy), neuron="2:0"))
    assert f"Separates your groups: higher in {GROUP} (rank 1, matched AUC 1.00)" in capsys.readouterr().out


def test_show_report_and_browse_have_the_same_numbers(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show.JOB.run(show.ShowConfig(out=str(copy), contrast=True, format="json"))
    facts = json.loads(capsys.readouterr().out)
    report.JOB.run(ReportConfig(out=str(copy), best=1, neurons=("2:0",), winners=5))
    pages = Browser(str(copy), 5, 20).pages
    served = pages.side("contrast")
    assert served is not None
    cells = [str(cell) for own in facts["lists"] for row in own["rows"] for cell in row]
    assert len(cells) > 100
    for text in ((copy / "report" / "side" / "contrast.html").read_text(), str(served.body)):
        shown = html.unescape(text)
        assert [said for said in facts["sentences"] if said not in shown] == []
        assert {cell for cell in cells if f">{cell}<" not in shown} == set()
    ranked = f"higher in {GROUP} (rank 1, matched AUC 1.00)"
    unit = pages.neuron("2-0")
    assert unit is not None
    for text in ((copy / "report" / "neurons" / "2-0.html").read_text(), str(unit.body)):
        assert ranked in html.unescape(text)


def test_sentences_of_the_corpus_that_are_scored_again_have_the_same_areas(copy: Path, whole: Path) -> None:
    again(copy, by=("word",), sentences=SENTENCES, no_probes=True)
    for row, known in zip(rows(copy, "units"), rows(whole, "units", "\"group\" like 'word=%'"), strict=True):
        assert row == pytest.approx(known, abs=1e-5)
    assert not rows(copy, "probes")


def test_texts_of_ones_own(copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, word in (("mine", WORD), ("yours", "w7")):
        lines = [f"w{i} w{i + 1} {word} w{i + 2} ." for i in range(20, 60)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = {f"{group}_texts": str(tmp_path / f"{name}.txt") for group, name in (("a", "mine"), ("b", "yours"))}
    again(copy, **texts, split="none")
    (first,) = rows(copy, "units", "rank = 1")
    assert (first["group"], first["unit"], first["auc"], first["n_a"], first["n_b"]) == ("mine", 0, 1, 40, 40)
    assert "mine: one unit (AUC 1.00)" in capsys.readouterr().out
    (tmp_path / "yours.txt").write_text("\n".join(f"{line} " * 4 for line in lines) + "\n", encoding="utf-8")
    again(copy, **texts, split="none", no_probes=True)
    assert "mine: 100 % of the smaller group have no match, so matched_auc omits them" in capsys.readouterr().err
    (tmp_path / "yours.txt").write_text(".\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"--b-texts .*yours.txt: gives no usable sentence"):
        again(copy, **texts, split="none")


@pytest.mark.slow
def test_cut_off_amid_the_layers_it_goes_on_with_the_rest(
    whole: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do_item_by_item(monkeypatch, lambda: again(copy, by=("word", "half")))
    for table in TABLES:
        assert rows(copy, table) == rows(whole, table)


@pytest.mark.slow
def test_two_workers_give_the_same_rows(whole: Path, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again(copy, by=("word", "half"), workers=2)
    for table in TABLES:
        assert rows(copy, table) == rows(whole, table)
    capsys.readouterr()
    again(copy, by=("word", "half"), redo=False)
    assert "4 contrasts" in capsys.readouterr().err
    with pytest.raises(InputError, match="--redo"):
        again(copy, by=("word",), redo=False)


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray", "actors")
@pytest.mark.parametrize("more", [{"no_probes": True}, {"sentences": 400}], ids=["sample", "scored"])
def test_two_workers_on_a_run_in_s3_give_the_tables_of_one_on_disk(
    copy: Path, bucket: str, more: dict[str, Any]
) -> None:
    store = Store(f"{bucket}/run")
    fs.copy_files(str(copy), store.root, destination_filesystem=store.filesystem)
    options = {"a": (f"word={WORD}",), "b": ("word=other",), **more}
    again(copy, **options)
    contrast.JOB.run(ContrastConfig.model_validate({"out": f"{bucket}/run", "workers": 2, "redo": True, **options}))
    for table in TABLES:
        found = pq.read_table(f"{store.root}/contrast/{table}", filesystem=store.filesystem)
        assert found.equals(pq.read_table(copy / "contrast" / table)), table
    assert store.files("contrast/figures") == Store(str(copy)).files("contrast/figures")


def test_the_dry_run_says_what_would_be_done(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again(copy, by=("word",), dry_run=True)
    said = capsys.readouterr().out
    assert "units: 4 of 4 layers of contrasts" in said
    assert "probes: 6 of 6 probes of layers" in said


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "--by is missing"),
        ({"by": "word", "a": "word=x", "b": "word=y"}, "--a with --by: each names the groups"),
        ({"a": f"word={WORD}"}, "--b is missing"),
        ({"b_texts": "x.txt"}, "--a-texts is missing"),
        ({"a": "word", "b": "word=other"}, "--a word: expected KEY=VALUE"),
        ({"a_texts": "none.txt", "b_texts": "none.txt"}, "--a-texts none.txt: "),
        ({"by": "mood"}, "--by mood: the corpus has no metadata key mood; it has dataset, half, same, word"),
        ({"by": "same"}, "--by same: same has one value only, yes"),
        ({"by": "dataset"}, "--by dataset: dataset has one value only, planted"),
        ({"a": f"word={WORD}", "b": "half=odd"}, "--a and --b: the groups overlap in"),
        ({"by": "word", "random_run": "nowhere"}, "--random-run nowhere"),
    ],
)
def test_wrong_calls_are_refused_in_one_line(copy: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        again(copy, **options)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_features_are_compared_with_words_alone(
    small_run: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Path(shutil.copytree(small_run[0], tmp_path / "run"))
    options = {"out": str(run), "model": str(small_run[1]), "k": 40, "workers": 1, "redo": True}
    dictionary = sparse_dictionary(tmp_path / "sae")
    topk.JOB.run(TopkConfig.model_validate({**options, "dictionary": (f"{LAYER}={dictionary}",)}))
    again(run, by=("topic",))
    (first, *_) = capsys.readouterr().out.splitlines()
    assert "rotated" not in first
    assert "than words" in first
    units = rows(run, "units", "\"group\" = 'topic=t1' order by rank")
    assert 20 < len(units) < FEATURES, "silent features are left out"
    sample = duckdb.sql(
        f"select layer_{LAYER}_units as units, meta.topic = 't1' as is_a from '{run}/activations/*.parquet' "
        f"join '{run}/corpus/*.parquet' using (sent_id)"
    ).to_arrow_table()
    active = [set(own) for own in sample["units"].to_pylist()]
    is_a = np.array(sample["is_a"].to_pylist())
    for row in units:
        own = np.array([row["unit"] in one for one in active])
        assert row["active_a"] == pytest.approx(own[is_a].mean())
        assert row["active_b"] == pytest.approx(own[~is_a].mean())
    assert {row["control"] for row in rows(run, "controls")} == {"units", "permuted"}
    assert {row["basis"] for row in rows(run, "probes")} == {"units", "layer", "words"}
    again(run, by=("topic",), sentences=SENTENCES)
    for row, known in zip(rows(run, "units", "\"group\" = 'topic=t1' order by rank"), units, strict=True):
        assert row == pytest.approx(known, abs=1e-4)
    show.JOB.run(show.ShowConfig(out=str(run), contrast=True))
    assert "active in a" in capsys.readouterr().out


@pytest.mark.slow
def test_random_weights_are_another_basis(
    small_run: tuple[Path, Path], tmp_path: Path, make_model: Callable[..., Path]
) -> None:
    run, other = (Path(shutil.copytree(small_run[0], tmp_path / name)) for name in ("run", "other"))
    same = {"k": 40, "activation_sample": 400, "workers": 1, "redo": True}
    topk.JOB.run(TopkConfig.model_validate({"out": str(run), "model": str(small_run[1]), **same}))
    with pytest.raises(InputError, match=r"--random-run .*: is of .*; give a run of --model random:"):
        again(run, by=("topic",), random_run=str(other))
    topk.JOB.run(TopkConfig.model_validate({"out": str(other), "model": f"random:{small_run[1]}", **same}))
    again(run, by=("topic",), random_run=str(other))
    found = {(row["basis"], row["k"]) for row in rows(run, "probes", "layer is null")}
    assert {("random", 1), ("random", 8), ("units", 8), ("rotated", 8)} <= found
    assert all(row["over_random"] is not None for row in rows(run, "probes", "basis = 'units'"))
    areas = rows(run, "probes", "basis in ('random', 'units') and layer is not null")
    again(run, by=("topic",), random_run=str(other), sentences=400)
    scored = rows(run, "probes", "basis in ('random', 'units') and layer is not null")
    assert [row["auc"] for row in scored] == pytest.approx([row["auc"] for row in areas], abs=1e-3)
