"""The job `export` in the formats of other programs: complete or absent, repeatable, and refused in one line."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

from jobs.annotate import job as annotate
from jobs.compare import job as compare
from jobs.export import job as export
from jobs.export.job import ExportConfig
from jobs.tokens import job as tokens
from ops.errors import InputError
from ops.export.folder import MANIFEST
from tests.conftest import ROOT
from tests.jobs.finished_runs.compare import compare_config

FORMATS = ("neuronpedia", "delphi")
GIVEN = {"license": "cc0-1.0", "source_license": "docs=CC0-1.0"}


def run_export(run: Path, to: Path, **more: Any) -> None:
    export.JOB.run(ExportConfig.model_validate({"out": str(run), "to": str(to), **GIVEN, **more}))


@pytest.fixture(scope="module")
def folders(explain_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {form: tmp_path_factory.mktemp("export") / form for form in FORMATS}
    for form, to in found.items():
        run_export(explain_run[0], to, format=form)
    return found


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_neuronpedia_gets_every_winner_and_hard_negative_that_was_read(
    folders: dict[str, Path], explain_run: tuple[Path, Path]
) -> None:
    to, [run, _] = folders["neuronpedia"], explain_run
    lines = dict.fromkeys(("features", "activations", "explanations"), 0)
    for path in to.rglob("*.jsonl.gz"):
        lines[path.parent.name] += len(lines_of(path))
    table = pq.read_table(run / "token_activations", columns=["pole"])
    verdicts = pq.read_table(run / "explanations", columns=["verdict"])["verdict"].to_pylist()
    negatives = pq.read_table(run / "negative_tokens").num_rows
    assert negatives > 0
    assert lines == {
        "features": pq.read_table(run / "neurons", columns=["unit"]).num_rows * len(set(table["pole"].to_pylist())),
        "activations": table.num_rows + negatives,
        "explanations": sum(verdict != "none" for verdict in verdicts),
    }
    sources = sorted(path.parent.name for path in to.rglob("source.jsonl"))
    assert sources == ["0-atlas-hidden", "0-atlas-hidden-bottom", "1-atlas-hidden", "1-atlas-hidden-bottom"]
    notes = json.loads(next(to.rglob("source.jsonl")).read_text())["notes"]
    assert notes.startswith("all neurons: 24; the first ")
    assert "texts of docs: CC0-1.0" in notes


def test_neuronpedia_gets_the_tokens_that_units_promote_and_the_units_that_correlate(
    outputs_run: tuple[Path, Path], tmp_path: Path
) -> None:
    run, to = tmp_path / "run", tmp_path / "to"
    shutil.copytree(outputs_run[0], run)
    annotate.JOB.run(annotate.AnnotateConfig(out=str(run), workers=1))
    tokens.JOB.run(tokens.TokensConfig(out=str(run), workers=1, top=2))
    compare.JOB.run(compare_config(run, part=("neighbours",)))
    run_export(run, to, format="neuronpedia")
    found = {(row["layer"], int(row["index"])): row for path in to.rglob("features/*.gz") for row in lines_of(path)}
    assert len(found) == 80, "two layers of twenty units, at both poles"
    logits, neighbours = (pq.read_table(run / name).to_pylist() for name in ("outputs/tokens", "compare/neighbours"))
    for (source, unit), row in found.items():
        layer, bottom = int(source[0]) + 1, source.endswith("-bottom")
        own = [r for r in logits if (r["layer"], r["unit"]) == (layer, unit)]
        for end, side in (("neg", "suppressed"), ("pos", "promoted")):
            side = {"promoted": "suppressed", "suppressed": "promoted"}[side] if bottom else side
            listed = [r for r in own if r["side"] == side]
            assert row[f"{end}_str"] == [r["token"] for r in listed]
            assert row[f"{end}_values"] == pytest.approx([r["logit"] * (-1 if bottom else 1) for r in listed])
            assert row[f"{end}_values"] == sorted(row[f"{end}_values"], reverse=end == "pos")
        near = [r for r in neighbours if (r["layer"], r["unit"], r["layer_b"]) == (layer, unit, layer)][:2]
        assert row["correlated_neurons_indices"] == [r["unit_b"] for r in near]
        assert row["correlated_neurons_pearson"] == pytest.approx([r["correlation"] for r in near])
        assert row["logits_hist_data_bar_heights"] == row["correlated_features_indices"] == []
    assert {len(row["neg_str"]) for row in found.values()} == {20}
    assert {len(row["correlated_neurons_indices"]) for row in found.values()} == {2}


def test_delphi_gets_every_module_with_the_same_tokens(folders: dict[str, Path]) -> None:
    modules = sorted(path.parent.name for path in folders["delphi"].rglob("config.json"))
    assert modules == ["layers.0", "layers.0.bottom", "layers.1", "layers.1.bottom"]
    held = [load_file(path) for path in sorted(folders["delphi"].rglob("*.safetensors"))]
    assert len(held) == 4
    assert all((one["tokens"] == held[0]["tokens"]).all() for one in held)
    assert all(len(one["activations"]) > 0 for one in held)


def test_delphi_gets_the_hard_negatives_as_rows(
    explain_run: tuple[Path, Path], folders: dict[str, Path], tmp_path: Path
) -> None:
    """Chosen units: those of all units have every sentence among their winners already."""
    run = explain_run[0]
    rows = pq.read_table(run / "negative_tokens", columns=["layer", "unit", "sent_id"]).to_pylist()
    layer, unit = rows[0]["layer"], rows[0]["unit"]
    own = {row["sent_id"] for row in rows if (row["layer"], row["unit"]) == (layer, unit)}
    tokens = pq.read_table(run / "token_activations", columns=["layer", "unit", "sent_id"]).to_pylist()
    won = {row["sent_id"] for row in tokens if (row["layer"], row["unit"]) == (layer, unit)}
    assert own.isdisjoint(won)
    run_export(run, tmp_path / "to", format="delphi", units=(f"{layer}:{unit}",), context=64)
    held = load_file(next((tmp_path / "to").rglob("*.safetensors")))
    assert len(held["tokens"]) == len(own | won)
    assert len(np.unique(held["locations"][:, 0])) <= len(won)


@pytest.mark.parametrize("form", FORMATS)
def test_it_says_where_it_comes_from_and_nothing_of_the_machine(
    folders: dict[str, Path], explain_run: tuple[Path, Path], form: str
) -> None:
    card = (folders[form] / "README.md").read_text()
    assert "| docs | docs.jsonl | CC0-1.0 |" in card
    assert "Licence of the whole: cc0-1.0." in card
    assert "Units: all neurons: 24." in card
    places = (str(explain_run[0]), str(explain_run[1]), str(ROOT), str(folders[form].parent))
    for name, data in files(folders[form]).items():
        held = gzip.decompress(data) if name.endswith(".gz") else data
        assert not any(place.encode() in held for place in places), name
    listed = json.loads((folders[form] / MANIFEST).read_text())
    assert {MANIFEST, "README.md", *listed["files"]} == files(folders[form]).keys()
    assert listed["format"] == form


@pytest.mark.parametrize("form", FORMATS)
def test_other_units_replace_the_files_and_all_units_give_the_first_ones_again(
    folders: dict[str, Path], explain_run: tuple[Path, Path], tmp_path: Path, form: str
) -> None:
    to, before = tmp_path / "to", files(folders[form])
    shutil.copytree(folders[form], to)
    run_export(explain_run[0], to, format=form, units=("1:3", "1:5"))
    assert "Units: 2 of 24 neurons, those named by --units." in (to / "README.md").read_text()
    assert not [name for name in files(to) if "layers.1" in name or "/1-atlas" in name]
    chosen = files(to)
    run_export(explain_run[0], to, format=form, units=("1:5", "1:3", "1:5"))
    assert files(to) == chosen
    run_export(explain_run[0], to, format=form)
    assert files(to) == before


def test_wrong_calls_are_one_line_and_change_nothing(
    folders: dict[str, Path], explain_run: tuple[Path, Path], tmp_path: Path
) -> None:
    run, to = explain_run[0], tmp_path / "to"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("kept")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"format": "delphi", "push": "org/name"}, "--push: is an option of --format hub; leave it out"),
        ({"units": ("1:0",)}, "--units: is an option of --format neuronpedia and delphi; leave it out"),
        ({"format": "neuronpedia", "context": 8}, "--context: is an option of --format delphi; leave it out"),
        ({"format": "delphi", "name": "mine"}, "--name: is an option of --format neuronpedia; leave it out"),
        ({"format": "neuronpedia", "units": ("9:0",)}, "--units 9:0: there is no such neuron"),
        ({"format": "neuronpedia", "model_id": "a/b"}, "--model-id a/b: expected up to 100 letters"),
        ({"format": "delphi", "to": str(tmp_path / "other")}, "holds other files"),
        ({"format": "delphi", "to": str(folders["neuronpedia"])}, "an export of another run or in another format"),
    ]
    before = {form: files(folder) for form, folder in folders.items()}
    for options, said in cases:
        with pytest.raises(InputError, match=said) as found:
            run_export(run, **{"to": to, **options})
        assert "\n" not in str(found.value)
    assert {form: files(folder) for form, folder in folders.items()} == before
    assert files(tmp_path) == {"other/mine.txt": b"kept"}
    assert not to.exists()


@pytest.fixture
def copy(explain_run: tuple[Path, Path], tmp_path: Path) -> Path:
    shutil.copytree(explain_run[0], tmp_path / "run")
    return tmp_path / "run"


def change(run: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    record = json.loads((run / "run.json").read_text())
    edit(record)
    (run / "run.json").write_text(json.dumps(record))


@pytest.mark.parametrize("name", ["org/" + "x" * 101, "/"])
def test_a_model_s_name_that_is_no_id_is_refused_where_no_id_is_given(copy: Path, tmp_path: Path, name: str) -> None:
    change(copy, lambda record: record["model"].update(name=name))
    with pytest.raises(InputError, match=r'^--model-id ("".*|x+\.\.\.): expected up to 100 letters'):
        run_export(copy, tmp_path / "to", format="neuronpedia")
    assert not (tmp_path / "to").exists()


def test_a_run_without_tokens_is_refused(copy: Path, tmp_path: Path) -> None:
    change(copy, lambda record: record["stages"].pop("tokens"))
    for form in FORMATS:
        with pytest.raises(InputError, match=r"token_activations/ is missing.*atlas tokens"):
            run_export(copy, tmp_path / "to", format=form)
    assert not (tmp_path / "to").exists()


@pytest.mark.parametrize("wrong", ["gone", "other", "no model"])
def test_delphi_requires_the_tokenizer_of_the_run(
    copy: Path, explain_run: tuple[Path, Path], folders: dict[str, Path], tmp_path: Path, wrong: str
) -> None:
    model = tmp_path / "model"
    if wrong != "no model":
        shutil.copytree(explain_run[1], model)
    if wrong == "gone":
        for path in [*model.glob("token*"), *model.glob("vocab*"), *model.glob("special*")]:
            path.unlink()
    elif wrong == "other":
        options = json.loads((model / "tokenizer_config.json").read_text())
        (model / "tokenizer_config.json").write_text(json.dumps(options | {"do_lower_case": False}))
    change(copy, lambda record: record["stages"]["topk"]["config"].update(model=str(model)))
    said = {
        "gone": "its tokenizer cannot be loaded",
        "other": "its tokenizer has changed since this run was made",
        "no model": "--model ",
    }[wrong]
    with pytest.raises(InputError, match=said) as found:
        run_export(copy, tmp_path / "to", format="delphi")
    assert "\n" not in str(found.value)
    assert not (tmp_path / "to").exists()
    if wrong == "no model":
        # Neuronpedia's files are made of the tables alone.
        run_export(copy, tmp_path / "np", format="neuronpedia")
        assert files(tmp_path / "np") == files(folders["neuronpedia"])
