"""The job `export`: a folder that opens as documented, complete or absent, and an upload to a fake hub."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import datasets
import duckdb
import pyarrow.parquet as pq
import pytest
import yaml

from jobs.export import job as export
from jobs.export.job import ExportConfig
from ops.errors import InputError
from ops.export.card import query
from tests.conftest import ROOT
from tests.jobs.hub_server import TOKEN, Hub


def config(run: Path, to: Path, **more: object) -> ExportConfig:
    return ExportConfig.model_validate({"out": str(run), "to": str(to), **more})


@pytest.fixture(scope="module")
def folder(small_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("export") / "folder"
    export.JOB.run(config(small_run[0], to, license="cc0-1.0", source_license="docs=CC0-1.0"))
    return to


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_table_opens_by_its_name_with_all_its_rows(
    folder: Path, small_run: tuple[Path, Path], tmp_path: Path
) -> None:
    record = json.loads((small_run[0] / "run.json").read_text())
    card = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    patterns = {own["config_name"]: own["data_files"] for own in card["configs"]}
    assert patterns.keys() == {name for name in record["tables"] if (folder / name).is_dir()}
    assert {"corpus", "topk", "sentences", "patterns", "scores", "token_activations", "peaks"} < patterns.keys()
    for name, pattern in patterns.items():
        rows = sum(pq.read_metadata(path).num_rows for path in folder.glob(pattern))
        assert rows == sum(f["rows"] for f in record["tables"][name]), name
    opened = datasets.load_dataset(str(folder), "topk", split="train", cache_dir=str(tmp_path))
    assert opened.num_rows == sum(f["rows"] for f in record["tables"]["topk"])
    assert opened[0] == pq.read_table(small_run[0] / "topk").slice(0, 1).to_pylist()[0]


def test_its_card_says_where_it_comes_from_and_nothing_of_the_machine_and_its_queries_run_there(
    folder: Path, small_run: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    card, found = (folder / "README.md").read_text(), (folder / "provenance.json").read_text()
    monkeypatch.chdir(folder)
    for table in json.loads(found)["tables"]:
        assert query(table) in card
        assert len(duckdb.sql(query(table).rstrip(";")).fetchall()) >= (table not in ("unscored", "rejects")), table
    record = json.loads((small_run[0] / "run.json").read_text())
    for name in ("ingest", "topk", "annotate", "mine", "tokens"):
        assert record["stages"][name]["fingerprint"] in card
    assert "| docs | docs.jsonl | CC0-1.0 |" in card
    for place in (str(small_run[0]), str(small_run[1]), str(ROOT), str(folder.parent)):
        assert place not in card
        assert place not in found


def test_again_gives_the_same_files_and_an_edited_card_is_kept(
    folder: Path, small_run: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "to"
    shutil.copytree(folder, to)
    export.JOB.run(config(small_run[0], to, license="cc0-1.0", source_license="docs=CC0-1.0"))
    assert files(to) == files(folder)
    (to / "README.md").write_text("mine")
    export.JOB.run(config(small_run[0], to))
    assert (to / "README.md").read_text() == "mine"
    assert f"note: {to}/README.md was edited and is kept; remove it to get a new one\n" in capsys.readouterr().err


def test_wrong_calls_are_refused_and_change_nothing(
    folder: Path, small_run: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run[0]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("kept")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    cases: list[tuple[ExportConfig, str]] = [
        (config(run, tmp_path / "other"), "holds other files"),
        (config(run, run / "export"), "is inside the run's own folder"),
        (config(tmp_path / "none", tmp_path / "a"), "there is no run here"),
        (ExportConfig(out=str(run)), "--to is missing"),
        (ExportConfig(out=str(run), to="s3://b/k"), "not a path on this machine"),
        (config(run, tmp_path / "a", license="My Licence"), "--license My Licence"),
        (config(run, tmp_path / "a", source_license="films=x"), "--source-license films"),
        (config(run, tmp_path / "a", private=True), "--private: requires --push"),
        (config(run, tmp_path / "a", push="name"), "--push name: expected ORG/NAME"),
    ]
    for case, said in cases:
        with pytest.raises(InputError, match=said):
            export.JOB.run(case)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other"]
    assert files(tmp_path / "other") == {"mine.txt": b"kept"}


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = Hub()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def call(run: Path, to: Path, address: str, home: Path, token: str, *flags: str) -> "subprocess.CompletedProcess[str]":
    own = {"HF_ENDPOINT": address, "HF_TOKEN": token, "HF_HOME": str(home)}
    own |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-m", "jobs.export", "--out", str(run), "--to", str(to), "--push", "org/neurons", *flags]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_a_pushed_folder_is_on_the_hub_byte_by_byte(hub: Hub, small_run: tuple[Path, Path], tmp_path: Path) -> None:
    to = tmp_path / "to"
    done = call(small_run[0], to, hub.address, tmp_path / "home", TOKEN, "--private")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"{hub.address}/datasets/org/neurons: uploaded"
    assert {name: data for name, data in hub.files.items() if name != ".gitattributes"} == files(to)
    assert (hub.repos[0]["organization"], hub.repos[0]["type"]) == ("org", "dataset")
    assert "private" in json.dumps(hub.repos[0])
    sent = hub.sent
    hub.files |= {"topk/part-99999.parquet": b"of an earlier upload", "notes/mine.parquet": b"kept"}
    again = call(small_run[0], to, hub.address, tmp_path / "home", TOKEN)
    assert again.returncode == 0, again.stderr
    assert hub.sent == sent, "what the hub has is not sent again"
    assert hub.files.pop("notes/mine.parquet") == b"kept"
    assert {name: data for name, data in hub.files.items() if name != ".gitattributes"} == files(to)


@pytest.mark.slow
def test_a_hub_that_refuses_or_is_not_there_is_one_line(hub: Hub, small_run: tuple[Path, Path], tmp_path: Path) -> None:
    for address, token, said in (
        (hub.address, "hf_wrong", "--push org/neurons: the hub refuses"),
        ("http://127.0.0.1:9", TOKEN, "--push org/neurons: the hub refuses, or is not reached"),
        (hub.address, "", "--push org/neurons: there is no token"),
    ):
        done = call(small_run[0], tmp_path / "to", address, tmp_path / "home", token)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "to").exists()
