"""The job `report`: a site of a finished run, rebuilt each time, and removed together with the tables that it shows."""

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from jobs.report import job as report
from jobs.report.job import ReportConfig
from jobs.run_folder.run import Run
from ops.errors import InputError
from tests.unit.storage.test_lock import line, start


@pytest.fixture(scope="module")
def out(small_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "copy"
    shutil.copytree(small_run[0], folder)
    report.JOB.run(ReportConfig(out=str(folder), best=3, neurons=("2:7", "1:0"), winners=25))
    return folder


def test_the_overview_has_every_neuron_s_values(out: Path) -> None:
    text = (out / "report" / "index.html").read_text()
    found = re.search(r'<script type="application/json" id="map-data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    drawn = json.loads(found[1])
    assert drawn["widths"] == [12, 12]
    scores = {(s["layer"], s["unit"], s["pole"]): s for s in pq.read_table(out / "scores").to_pylist()}
    for pole in ("top", "bottom"):
        for place, value in enumerate(drawn["properties"]["auc"]["values"][pole]):
            assert value == pytest.approx(scores[1 + place // 12, place % 12, pole]["auc"], abs=1e-3)
    margins = {key: s["auc_excess"] for key, s in scores.items() if s["auc_excess"] is not None}
    best = sorted(margins, key=lambda key: (-margins[key], key))[:3]
    pages = {path.stem for path in (out / "report" / "neurons").iterdir()}
    assert pages == {"2-7", "1-0", *(f"{layer}-{unit}" for layer, unit, _ in best)} == set(drawn["pages"])
    for link in re.findall(r'href="(neurons/[^"#]*)', text):
        assert (out / "report" / link).is_file()
    assert Run(str(out)).require("topk")["fingerprint"][:12] in text


def test_pages_name_the_model_and_no_folder_of_this_machine(out: Path) -> None:
    model = Path(json.loads((out / "run.json").read_text())["model"]["name"])
    assert model.is_absolute()
    for path in (out / "report").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        title = re.search(r"<title>(.*?)</title>", text)
        assert title is not None
        assert f" · {model.name} · Neuron Atlas" in title[1], path
        assert not any(str(folder) in text for folder in (model.parent, out.parent))


def test_a_page_lists_the_winners_shaded_as_far_as_they_were_read(out: Path) -> None:
    text = (out / "report" / "neurons" / "2-7.html").read_text()
    items = re.findall(r'<li value="(\d+)" data-rank="\d+">(.*?)</li>', text, re.DOTALL)
    assert [int(rank) for rank, _ in items] == [*range(1, 26)] * 2
    for rank, item in items:
        assert ("title=" in item) == (int(rank) <= 20)
        assert item.count('peak"') >= (int(rank) <= 20)
    rows = pq.read_table(out / "patterns", filters=[("layer", "=", 2), ("unit", "=", 7)]).to_pylist()
    sure = [r for r in rows if r["q_value"] < 0.05 and r["g2"] > 0 and r["support"] >= 3]
    assert text.count('class="pattern"') >= len({r["pole"] for r in sure})


def test_it_is_made_anew_and_goes_with_what_it_shows(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    (copy / "report" / "mine.txt").write_text("kept")
    report.JOB.run(ReportConfig(out=str(copy), best=1))
    assert f"{copy}/report/index.html: an overview and 1 neurons" in capsys.readouterr().out
    assert len(list((copy / "report" / "neurons").iterdir())) == 1
    anew = Run(str(copy))
    anew.begin("mine", {"another": "mine"}, {}, redo=True)
    anew.finish("mine", {}, 0.0)
    anew.release()
    assert [p.name for p in (copy / "report").iterdir()] == ["mine.txt"]


def test_it_is_built_while_another_job_holds_the_run(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    before = (copy / "run.json").read_bytes()
    with start(copy, 60) as holder:
        assert line(holder) == "held"
        report.JOB.run(ReportConfig(out=str(copy), best=0, neurons=("1:5",)))
        assert "note: another job holds this run: the report shows what is finished" in capsys.readouterr().err
        assert (copy / "report" / "neurons" / "1-5.html").is_file()
        assert '"1-5"' in (copy / "report" / "index.html").read_text()
        assert (copy / "run.json").read_bytes() == before
        holder.kill()
    report.JOB.run(ReportConfig(out=str(copy), best=0, neurons=("1:6",)))
    assert [p.name for p in (copy / "report" / "neurons").iterdir()] == ["1-6.html"]
    assert capsys.readouterr().err == ""


def test_what_is_missing_is_named(out: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no run here"):
        report.JOB.run(ReportConfig(out=str(tmp_path / "none")))
    with pytest.raises(InputError, match=r"--neurons 3:0: there is no such neuron; layers run from 1 to 2"):
        report.JOB.run(ReportConfig(out=str(out), neurons=("3:0",)))
    assert (out / "report" / "index.html").is_file(), "a wrong call changes nothing"
