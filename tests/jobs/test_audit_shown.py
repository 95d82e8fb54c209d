"""What `show`, pages and searches say of a run with made-up tables of an audit; without one all is as before."""

import json
import random
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
from ops.errors import InputError
from ops.schema import schema
from ops.storage.tables import write_part
from tests.jobs.test_explanations_shown import write_explanations
from tests.unit.facts.made_up_audit import audited, literal
from tests.unit.report.test_search_index import index_of
from tests.unit.report.valid_html import check_html

NAMES = ["books", "news", "tweets"]
VERDICTS = ("global", "local", "dataset_detector", "none")
Rows = list[dict[str, Any]]


def write_audit(out: Path, explained: Rows) -> Rows:
    """Write the tables of `audit` for a run with explanations, made up by a seed; return those of audit/neurons/."""
    rng, run = random.Random(4), Run(str(out))
    fingerprint = run.begin("audit", {}, {}, redo=False)
    assert fingerprint is not None
    keys = [{name: row[name] for name in ("layer", "unit", "pole")} for row in explained]
    rows = []
    for key in keys:
        verdict = rng.choice(VERDICTS)
        holds = NAMES[: {"global": 3, "local": 1}.get(verdict, 0)]
        row = audited(key["layer"], key["unit"], verdict, rng.random(), found_in=NAMES[:1])
        rows.append(row | key | {"holds_in": holds, "ported": len(holds)})
    pairs = [
        key | {"dataset_from": a, "dataset_to": b, "average_precision": rng.random() + (a == b), "n": 5, "documents": 4}
        | {"random_precision": 0.25}
        for key in keys for a in NAMES for b in NAMES
    ]  # fmt: skip
    given: dict[str, Rows] = {
        "neurons": rows,
        "portability": pairs,
        "patterns": [literal(0, 0, 1, [1.0, -1.0, None]) | key for key in keys],
    }
    for name, own in given.items():
        for table, written in ((f"audit/{name}", own), (f"audit/{name}_controls", [])):
            made = pa.Table.from_pylist(written, schema(table))
            write_part(run.store_of("audit"), table, 0, made.schema, [made], fingerprint)
    run.finish("audit", {}, 0.0)
    run.release()
    return rows


@pytest.fixture(scope="module")
def audit(small_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Rows]:
    """A run that was audited, the same without the audit, and the rows of audit/neurons/."""
    folder = tmp_path_factory.mktemp("audited")
    shutil.copytree(small_run[0], folder / "plain")
    explained = write_explanations(folder / "plain")
    shutil.copytree(folder / "plain", folder / "run")
    return folder / "run", folder / "plain", write_audit(folder / "run", explained)


def test_show_prints_one_line_more_and_the_audit_as_json(
    audit: tuple[Path, Path, Rows], capsys: pytest.CaptureFixture[str]
) -> None:
    out, plain, rows = audit
    row = next(r for r in rows if r["verdict"] == "local")
    which = f"{row['layer']}:{row['unit']}"
    printed = []
    for folder in (out, plain):
        show.JOB.run(ShowConfig(out=str(folder), neuron=which, pole=row["pole"]))
        printed.append(capsys.readouterr().out.splitlines())
    more = [line for line in printed[0] if line not in printed[1]]
    line = " ".join(more)  # on a narrow screen it takes two lines
    assert line.startswith("Across data sets: holds in 1 of 3 data sets (not in news or tweets); transfer 0.")
    for folder, expected in ((out, "local"), (plain, None)):
        show.JOB.run(ShowConfig(out=str(folder), neuron=which, pole=row["pole"], format="json"))
        facts = json.loads(capsys.readouterr().out)
        assert (facts["audit"] and facts["audit"]["verdict"]) == expected
    show.JOB.run(ShowConfig(out=str(out)))
    show.JOB.run(ShowConfig(out=str(plain)))
    listed = capsys.readouterr().out
    assert listed[: len(listed) // 2] == listed[len(listed) // 2 :], "the list of the best has nothing new"


def test_show_prints_the_findings_of_the_whole_run(
    audit: tuple[Path, Path, Rows], capsys: pytest.CaptureFixture[str]
) -> None:
    out, plain, rows = audit
    show.JOB.run(ShowConfig(out=str(out), audit=True))
    printed = capsys.readouterr().out
    show.JOB.run(ShowConfig(out=str(out), audit=True, format="json"))
    facts = json.loads(capsys.readouterr().out)
    assert facts["datasets"] == NAMES
    assert facts["audited"] == len(rows)
    assert sum(facts["verdicts"]["neurons"].values()) == facts["explained"] > 0
    assert " ".join(printed.split()).startswith(facts["sentences"][0])
    with pytest.raises(InputError, match="audit"):
        show.JOB.run(ShowConfig(out=str(plain), audit=True))
    with pytest.raises(InputError, match="--audit with --neuron: --audit prints the whole run; leave --neuron out"):
        show.JOB.run(ShowConfig(out=str(out), audit=True, neuron="1:0"))
    with pytest.raises(InputError, match="leave --pole out"):
        show.JOB.run(ShowConfig(out=str(out), audit=True, pole="top"))


def test_pages_map_and_searches_have_the_verdicts(audit: tuple[Path, Path, Rows]) -> None:
    out, plain, rows = audit
    for folder in (out, plain):
        report.JOB.run(ReportConfig(out=str(folder), best=3, neurons=("2:7",), winners=5))
    own = {name: (out / "report" / name).read_text() for name in ("index.html", "neurons/2-7.html", "side/audit.html")}
    for text in own.values():
        check_html(text)
    assert own["neurons/2-7.html"].count('class="across"') == sum((r["layer"], r["unit"]) == (2, 7) for r in rows) == 2
    assert own["neurons/2-7.html"].count('<svg class="lifts"') == 2
    assert "verdict across data sets" in own["index.html"]
    assert "<th>Across data sets</th>" in own["index.html"]
    for name in ("index.html", "neurons/2-7.html"):
        text = (plain / "report" / name).read_text()
        assert "cross data sets" not in text
        assert "lifts" not in text
    assert not (plain / "report" / "side" / "audit.html").exists()
    index = index_of((out / "report" / "search.js").read_text())
    detectors = [r for r in rows if r["verdict"] == "dataset_detector"]
    assert index["across"].count("dataset_detector") == len(detectors)
    pages = Browser(str(out), 5, 20).pages
    found = pages.search({"verdict": "dataset_detector"})
    assert found.status == 200
    check_html(str(found.body))
    assert f"{len(detectors):,} found" in str(found.body) or f"of {len(detectors):,}" in str(found.body)
    assert "no results of atlas audit" in str(Browser(str(plain), 5, 20).pages.search({"q": "verdict:global"}).body)
