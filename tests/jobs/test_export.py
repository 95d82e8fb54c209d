"""The job `export`: a folder that opens as it says, whole or absent, and an upload that a hub of the test keeps."""

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
from ops.export import folder as dataset_folder
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
    configs = [
        c["config_name"] for c in yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])["configs"]
    ]
    assert {"corpus", "topk", "sentences", "patterns", "scores", "token_activations", "peaks", "activations"} <= set(
        configs
    )
    for name in configs:
        rows = sum(f["rows"] for f in record["tables"][name])
        if rows:
            opened = datasets.load_dataset(str(folder), name, split="train", cache_dir=str(tmp_path))
            assert opened.num_rows == rows, name
    first = datasets.load_dataset(str(folder), "topk", split="train", cache_dir=str(tmp_path))[0]
    assert first == pq.read_table(small_run[0] / "topk").slice(0, 1).to_pylist()[0]


def test_each_query_of_the_card_runs_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for table in json.loads((folder / "provenance.json").read_text())["tables"]:
        assert query(table) in (folder / "README.md").read_text()
        assert len(duckdb.sql(query(table).rstrip(";")).fetchall()) >= (table not in ("unscored", "rejects")), table


def test_it_says_where_it_comes_from_and_nothing_of_the_machine(folder: Path, small_run: tuple[Path, Path]) -> None:
    card, found = (folder / "README.md").read_text(), (folder / "provenance.json").read_text()
    record = json.loads((small_run[0] / "run.json").read_text())
    for name in ("ingest", "topk", "annotate", "mine", "tokens"):
        assert record["stages"][name]["fingerprint"] in card
    assert "| docs | docs.jsonl | CC0-1.0 |" in card
    for place in (str(small_run[0]), str(small_run[1]), str(ROOT), str(folder.parent)):
        assert place not in card
        assert place not in found


def test_again_changes_nothing_and_a_killed_one_goes_on(
    folder: Path, small_run: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(folder)
    export.JOB.run(config(small_run[0], folder, license="cc0-1.0", source_license="docs=CC0-1.0"))
    assert files(folder) == before
    to, copied = tmp_path / "to", list[str]()
    real = dataset_folder.copy_file

    def fails(store: object, name: str, *rest: object) -> None:
        if len(copied) == 5:
            raise KeyboardInterrupt
        copied.append(name)
        real(store, name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(dataset_folder, "copy_file", fails)
    options = {"license": "cc0-1.0", "source_license": "docs=CC0-1.0"}
    with pytest.raises(KeyboardInterrupt):
        export.JOB.run(config(small_run[0], to, **options))
    assert not to.exists()
    kept = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.parquet")}
    assert len(kept) == 5
    monkeypatch.setattr(dataset_folder, "copy_file", real)
    export.JOB.run(config(small_run[0], to, **options))
    assert files(to) == before
    under = tmp_path / ".to.under-way"
    assert {to / p.relative_to(under): t for p, t in kept.items()}.items() <= {
        p: p.stat().st_mtime_ns for p in to.rglob("*.parquet")
    }.items()
    assert [p.name for p in tmp_path.iterdir()] == ["to"]


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
        (config(run, tmp_path / "other" / "mine.txt"), "is a file"),
        (config(run, run / "export"), "lies in the run's own folder"),
        (config(tmp_path / "none", tmp_path / "a"), "there is no run here"),
        (ExportConfig(out=str(run)), "--to is missing"),
        (ExportConfig(out=str(run), to="s3://b/k"), "no path of this machine"),
        (config(run, tmp_path / "a", license="My Licence"), "--license My Licence"),
        (config(run, tmp_path / "a", source_license="films=x"), "--source-license films"),
        (config(run, tmp_path / "a", private=True), "--private: is about --push"),
        (config(run, tmp_path / "a", push="name"), "--push name: expected ORG/NAME"),
    ]
    for case, said in cases:
        with pytest.raises(InputError, match=said):
            export.JOB.run(case)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other"]
    assert files(tmp_path / "other") == {"mine.txt": b"kept"}
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    record = json.loads((copy / "run.json").read_text())
    record["tables"]["topk"][0]["fingerprint"] = "0" * 64
    (copy / "run.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="holds an export of other tables"):
        export.JOB.run(config(copy, folder))


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
    own = {
        "HF_ENDPOINT": address,
        "HF_TOKEN": token,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_OFFLINE": "0",
    }
    command = [sys.executable, "-m", "jobs.export", "--out", str(run), "--to", str(to), "--push", "org/neurons", *flags]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, timeout=120)


def test_a_pushed_folder_is_on_the_hub_byte_by_byte(hub: Hub, small_run: tuple[Path, Path], tmp_path: Path) -> None:
    to = tmp_path / "to"
    done = call(small_run[0], to, hub.address, tmp_path / "home", TOKEN, "--private")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"{hub.address}/datasets/org/neurons: uploaded"
    assert {name: data for name, data in hub.files.items() if name != ".gitattributes"} == files(to)
    assert hub.repos[0]["organization"] == "org"
    assert hub.repos[0]["type"] == "dataset"
    assert "private" in json.dumps(hub.repos[0])
    sent = hub.sent
    again = call(small_run[0], to, hub.address, tmp_path / "home", TOKEN)
    assert again.returncode == 0, again.stderr
    assert hub.sent == sent, "what the hub has is not sent again"


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
