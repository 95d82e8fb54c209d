"""The job `export`: a folder that opens as documented, complete or absent, and an upload to a fake hub."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

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
from ops.export.manifest import UNDER_WAY, check_listed
from ops.export.push import push
from ops.storage.store import Store
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

    def fails(store: Store, name: str, *rest: Any) -> str:
        if len(copied) == 5:
            raise KeyboardInterrupt
        copied.append(name)
        return real(store, name, *rest)

    monkeypatch.setattr(dataset_folder, "copy_file", fails)
    options = {"license": "cc0-1.0", "source_license": "docs=CC0-1.0"}
    with pytest.raises(KeyboardInterrupt):
        export.JOB.run(config(small_run[0], to, **options))
    assert [p.name for p in to.iterdir()] == [UNDER_WAY]
    kept = {p: p.stat().st_mtime_ns for p in to.rglob("*.parquet")}
    assert len(kept) == 5
    monkeypatch.setattr(dataset_folder, "copy_file", real)
    export.JOB.run(config(small_run[0], to, **options))
    assert files(to) == before
    assert {to / p.relative_to(to / UNDER_WAY): t for p, t in kept.items()}.items() <= {
        p: p.stat().st_mtime_ns for p in to.rglob("*.parquet")
    }.items()
    assert [p.name for p in tmp_path.iterdir()] == ["to"]
    assert not (to / UNDER_WAY).exists()


def test_of_three_exports_at_once_one_is_made_and_the_others_are_one_line(
    small_run: tuple[Path, Path], tmp_path: Path
) -> None:
    to = tmp_path / "to"
    command = [sys.executable, "-m", "jobs.export", "--out", str(small_run[0]), "--to", str(to)]
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            )
            for _ in range(3)
        ]
        ended = [(*process.communicate(timeout=120), process.returncode) for process in started]
    for _, error, status in ended:
        assert status in (0, 2), error
        if status:
            [line] = error.splitlines()
            assert line.startswith(f"error: --to {to}: another job holds this folder: export, process ")
    assert 0 in [status for *_, status in ended]
    assert {*check_listed(to, "--to to")} == files(to).keys()


def test_an_export_of_a_run_that_gained_tables_gains_them(
    folder: Path, small_run: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, to = tmp_path / "run", tmp_path / "to"
    shutil.copytree(small_run[0], run)
    whole = json.loads((run / "run.json").read_text())
    without = json.loads((run / "run.json").read_text())
    del without["stages"]["tokens"]
    for table in ("token_activations", "peaks"):
        del without["tables"][table]
    (run / "run.json").write_text(json.dumps(without))
    options = {"license": "cc0-1.0", "source_license": "docs=CC0-1.0"}
    export.JOB.run(config(run, to, **options))
    assert not (to / "peaks").exists()
    (run / "run.json").write_text(json.dumps(whole))
    export.JOB.run(config(run, to, **options))
    assert files(to) == files(folder)
    (to / "README.md").write_text("mine")
    capsys.readouterr()
    export.JOB.run(config(run, to))
    assert (to / "README.md").read_text() == "mine"
    said = capsys.readouterr()
    assert said.err == f"note: {to}/README.md was edited and is kept; remove it to get a new one\n"
    assert said.out.startswith(f"{to}: ")


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
    own = {"HF_ENDPOINT": address, "HF_TOKEN": token, "HF_HOME": str(home)}
    own |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
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
    # If the card was edited, the edit is kept.
    (to / "README.md").write_text("---\npretty_name: mine\n---\n")
    edited = call(small_run[0], to, hub.address, tmp_path / "home", TOKEN)
    assert edited.returncode == 0, edited.stderr
    assert {name: data for name, data in hub.files.items() if name != ".gitattributes"} == files(to)
    assert hub.files["README.md"] == b"---\npretty_name: mine\n---\n"


@pytest.mark.parametrize("wrong", ["missing", "changed", "foreign"])
def test_an_upload_takes_what_export_wrote_and_nothing_else(
    folder: Path, small_run: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    to, table = tmp_path / "to", "topk/part-00000.parquet"
    shutil.copytree(folder, to)
    if wrong == "missing":
        (to / table).unlink()
        said = f"missing: {table}"
    elif wrong == "changed":
        data = (to / table).read_bytes()
        (to / table).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        said = f"not as export wrote it: {table}"
    else:
        (to / ".git").mkdir()
        for name in (".env", ".git/config", "notes.txt"):
            (to / name).write_text("mine")
        said = r"holds other files than its export \(\.env, \.git, notes\.txt\)"
    before = files(to)
    # What the job asks the hub first is not what is tried here.
    monkeypatch.setattr("ops.export.push.check_access", lambda name: None)
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: pytest.fail("it uploads"))
    for upload in (
        lambda: export.JOB.run(config(small_run[0], to, push="org/neurons")),
        lambda: push(str(to), f"--to {to}", "org/neurons", False),
    ):
        with pytest.raises(InputError, match=f"^--to {to}: {said}; "):
            upload()
    assert files(to) == before


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
