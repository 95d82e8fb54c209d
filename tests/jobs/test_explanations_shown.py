"""Explanations come first, in what `show` prints and on pages, and are searched; without them all is as before."""

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs.browse.server import Browser
from jobs.report import job as report
from jobs.report.job import ReportConfig
from jobs.run_folder.run import Run
from jobs.show import job as show
from jobs.show.job import ShowConfig
from jobs.show.printing import what_next
from ops.errors import InputError
from ops.facts.verdicts import CAUTION
from ops.schema import schema
from ops.storage.tables import write_part
from ops.topk.neurons import read_neurons
from tests.jobs.finished_runs.main import K
from tests.unit.report.valid_html import check_html

HOSTILE = "<b>bold</b>"


def write_explanations(out: Path) -> list[dict[str, Any]]:
    """Write the tables of `explain` for a finished run, made up by a seed, and return the rows of `explanations/`."""
    rng, run = random.Random(3), Run(str(out))
    fingerprint = run.begin("explain", {}, {}, redo=False)
    assert fingerprint is not None
    rows: list[dict[str, Any]] = []
    terms: list[dict[str, Any]] = []
    for layer, width in enumerate(read_neurons(run.store).widths, 1):
        for unit in range(width):
            here = {"layer": layer, "unit": unit}
            own = {
                "rank": 1,
                "kind": "word",
                "weight": 1.0,
                "negated": False,
                "share": 0.5,
                "also": [],
                "sent_ids": [0],
            }
            terms.append({**here, **own, "pole": None, "model": "activation", "pattern": "the", "items": ["the"]})
            for pole in ("bottom", "top"):
                key, word = {**here, "pole": pole}, f"word{layer}x{unit}{pole}"
                row = key | {"text": f"Sentences with *{word}* or *{HOSTILE}*: 64 % of its winners.", "literals": 1}
                row |= {"n": 40, "folds": 5, "chance_f1": 0.01, "verdict": rng.choice(("rule", "none")), "typical": []}
                row |= {"family": unit % 5, "margin_low": rng.random()}
                rows.append(row | {"f1": rng.random(), "f1_low": 0.1, "f1_high": 0.9})
                terms.append({**key, **own, "model": "winners", "pattern": word, "items": [word, f"topic{layer}"]})
    best = {family: max((r for r in rows if r["family"] == family), key=lambda r: r["f1"]) for family in range(5)}
    members = [
        {name: row[name] for name in ("layer", "unit", "pole", "family")}
        | {"correlation": 1.0, "is_leader": row is best[row["family"]]}
        for row in rows
    ]
    given = {"explanations": rows, "explanation_terms": terms, "families": members}
    for name in (*given, "examples", "explain/controls", "explain/literals"):
        table = pa.Table.from_pylist(given.get(name, []), schema(name))
        write_part(run.store_of("explain"), name, 0, table.schema, [table], fingerprint)
    run.finish("explain", {}, 0.0)
    run.release()
    return rows


@pytest.fixture(scope="module")
def explained(
    small_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("explained") / "run"
    shutil.copytree(small_run[0], out)
    return out, write_explanations(out)


def test_show_prints_the_explanation_first(
    explained: tuple[Path, list[dict[str, Any]]], small_run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out, rows = explained
    row = next(r for r in rows if (r["layer"], r["unit"], r["pole"]) == (2, 7, "bottom"))
    printed = []
    for folder in (out, small_run[0]):
        show.JOB.run(ShowConfig(out=str(folder), neuron="2:7", pole="bottom"))
        printed.append([line for line in capsys.readouterr().out.splitlines() if line != CAUTION])
    assert printed[0][1] == row["text"]
    assert printed[0][2].startswith(f"Verdict: {row['verdict']}. Held-out F1 {row['f1']:.3f} (0.100 to 0.900)")
    assert re.match(r"One of \d+ that go together, ", printed[0][3])
    assert printed[0][:1] + printed[0][4:-1] == printed[1][:-1]
    other = next(r for r in rows if (r["layer"], r["unit"], r["pole"]) == (2, 7, "top"))
    told, plain = (lines[-1] for lines in printed)
    assert f"The other pole (--pole top): {other['text']}".startswith(told.removesuffix("..."))
    assert other["text"][:40] in told
    assert plain == "The other pole (--pole top)"


def test_show_lists_the_best_and_takes_the_better_pole_of_a_neuron(
    explained: tuple[Path, list[dict[str, Any]]], small_run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out, rows = explained
    show.JOB.run(ShowConfig(out=str(out), format="json"))
    listed = json.loads(capsys.readouterr().out)
    leaders = {f: max((r for r in rows if r["family"] == f), key=lambda r: r["f1"]) for f in range(5)}
    expected = sorted((r for r in leaders.values() if r["verdict"] == "rule"), key=lambda r: -r["margin_low"])
    assert [row["text"] for row in listed] == [row["text"] for row in expected]
    assert all(
        row["members"] == sum(r["family"] == r_["family"] for r in rows)
        for row, r_ in zip(listed, expected, strict=True)
    )
    show.JOB.run(ShowConfig(out=str(out), neuron="best"))
    best = expected[0]
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == [f"Neuron {best['layer']}:{best['unit']} {best['pole']}", best["text"]]
    show.JOB.run(ShowConfig(out=str(out), neuron="2:7", format="json"))
    facts = json.loads(capsys.readouterr().out)
    own = [r for r in rows if (r["layer"], r["unit"]) == (2, 7)]
    assert facts["pole"] == max(own, key=lambda r: (r["verdict"] == "rule", r["f1"]))["pole"]
    assert best["text"] in what_next(str(out))
    assert f"--out {out} --neuron {best['layer']}:{best['unit']} " in what_next(str(out))
    show.JOB.run(ShowConfig(out=str(small_run[0]), rows=3))
    assert "held-out score" in capsys.readouterr().out.splitlines()[0]
    show.JOB.run(ShowConfig(out=str(small_run[0]), neuron="2:7", all=True))
    shown = capsys.readouterr().out
    assert f"Winners, all {K}" in shown


def test_pages_begin_with_explanations(explained: tuple[Path, list[dict[str, Any]]]) -> None:
    out, rows = explained
    report.JOB.run(ReportConfig(out=str(out), best=3, neurons=("2:7",), winners=5))
    overview = (out / "report" / "index.html").read_text()
    check_html(overview)
    leaders = {f: max((r for r in rows if r["family"] == f), key=lambda r: r["f1"]) for f in range(5)}
    expected = sorted((r for r in leaders.values() if r["verdict"] == "rule"), key=lambda r: -r["margin_low"])
    listed = re.findall(r"Sentences with \*(word\w+)\*", overview)
    assert listed == [f"word{r['layer']}x{r['unit']}{r['pole']}" for r in expected]
    assert expected
    assert overview.index('id="map"') < overview.index('id="rules"')
    assert HOSTILE not in overview
    page = (out / "report" / "neurons" / "2-7.html").read_text()
    check_html(page)
    own = {r["pole"]: r for r in rows if (r["layer"], r["unit"]) == (2, 7)}
    poles = sorted(own, key=lambda pole: (own[pole]["verdict"] != "rule", -own[pole]["f1"]))
    assert re.findall(r"Sentences with \*(word\w+)\*", page) == [f"word2x7{pole}" for pole in poles]
    assert page.index("Sentences with") < page.index('class="winners"') < page.index("Distribution")


def test_a_search_finds_verdicts_and_not_the_words_of_explanations(
    explained: tuple[Path, list[dict[str, Any]]], small_run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out, rows = explained
    pages = Browser(str(out), 5, 10).pages
    page = pages.search({"q": "verdict:rule"})
    assert page.status == 200
    check_html(str(page.body))
    expected = sorted((row for row in rows if row["verdict"] == "rule"), key=lambda row: -row["margin_low"])
    names = [f"{row['layer']}:{row['unit']} {row['pole']}" for row in expected]
    assert re.findall(r">(\d+:\d+ \w+)</a>", str(page.body)) == names
    assert HOSTILE not in str(page.body)
    assert "Nothing was found" in str(pages.search({"q": "word2x7top"}).body)
    assert "Sentences with *word2x7" in str(pages.neuron("2-7").body)  # type: ignore[union-attr]
    page = Browser(str(small_run[0]), 5, 10).pages.search({"q": "verdict:rule"})
    assert page.status == 400
    assert "no results of atlas explain" in str(page.body)
    show.JOB.run(ShowConfig(out=str(out), find="verdict:rule", pole="top", rows=2))
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("2 of ")
    assert [line.split()[:2] for line in printed[2:]] == [name.split() for name in names if "top" in name][:2]
    for wrong, message in (("verdict:sure", "--find: verdict:sure is unknown"), ("a: b", "is no kind or property")):
        with pytest.raises(InputError, match=message):
            show.JOB.run(ShowConfig(out=str(out), find=wrong))
    with pytest.raises(InputError, match="pole:bottom: --pole says top"):
        show.JOB.run(ShowConfig(out=str(out), find="a pole:bottom", pole="top"))
    with pytest.raises(InputError, match="--find with --neuron"):
        show.JOB.run(ShowConfig(out=str(out), find="a", neuron="1:0"))
