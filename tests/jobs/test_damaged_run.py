"""A run.json or a table that holds other things than a job wrote: one line, and nothing opened or removed by it."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.run_folder.run import Run, RunReader
from jobs.run_folder.run_json import RECORD
from jobs.show.job import ShowConfig
from jobs.stage.columns import check_column
from jobs.stage.main import main
from ops.errors import InputError
from ops.storage import lock
from ops.storage.tables import read_parts
from tests.jobs.test_record import do

ODD = (None, True, 5, "x", [], {}, [1], {"a": 1}, "corpus/../../mine.csv")
Place = tuple[Any, ...]


@pytest.fixture(autouse=True)
def no_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs of this process end before they would give a sign of life."""
    monkeypatch.setattr(lock, "BEAT_S", 3600.0)


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every place in a record, below its own."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, found in inner:
        yield (*place, key)
        yield from places(found, (*place, key))


def use(out: Path) -> None:
    """Read what a finished stage wrote, and begin the stage that follows as a job does."""
    run = Run(str(out))
    try:
        run.require("ingest")
        run.begin("topk", {}, {}, redo=True)
        run.store_of("topk").table_files("corpus")
    finally:
        run.release()


def is_refused(out: Path) -> bool:
    """Use a run, and tell whether one line refused it; any other error is raised."""
    said = ""
    try:
        use(out)
    except InputError as error:
        said = str(error)
    assert "\n" not in said
    return bool(said)


def test_whatever_stands_in_it_is_read_or_refused_in_one_line(tmp_path: Path) -> None:
    do(tmp_path, "ingest")
    do(tmp_path, "topk")
    whole = json.loads((tmp_path / RECORD).read_text())
    refused = 0
    for place in places({name: whole[name] for name in ("tool", "schema_version", "stages", "tables")}):
        for odd in (*ODD, KeyError):
            record = copy.deepcopy(whole)
            inner = record
            for key in place[:-1]:
                inner = inner[key]
            if odd is KeyError:
                del inner[place[-1]]
            else:
                inner[place[-1]] = odd
            (tmp_path / RECORD).write_text(json.dumps(record))
            refused += is_refused(tmp_path)
    assert refused > 200


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "null", '{"tool": "another"}', "\x00", '{"a": NaN', "\ud800"])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / RECORD).write_text(text, errors="surrogatepass")
    with pytest.raises(InputError, match=r"run\.json(: is not JSON| was not written by Neuron Atlas)"):
        Run(str(tmp_path))
    assert (tmp_path / RECORD).read_text(errors="surrogatepass") == text


@pytest.mark.parametrize("name", ["../mine/part-00000.parquet", "/etc/part-00000.parquet", "part-1.parquet"])
def test_a_name_that_no_job_gives_a_file_is_not_removed_by(tmp_path: Path, name: str) -> None:
    out, mine = tmp_path / "run", tmp_path / "mine" / "part-00000.parquet"
    do(out, "ingest")
    mine.parent.mkdir()
    mine.write_text("kept")
    record = json.loads((out / RECORD).read_text())
    record["tables"]["corpus"].append({"name": name, "rows": None, "bytes": 4, "fingerprint": "f"})
    (out / RECORD).write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"its run\.json is damaged \(at tables\.corpus\.1\.name\)"):
        do(out, "ingest", {"seed": 1}, redo=True)
    assert mine.read_text() == "kept"


@pytest.mark.parametrize("name", ["corpus", "topk"])
def test_a_damaged_or_missing_file_of_a_table_is_named_with_what_makes_it_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    for stage in ("ingest", "topk"):
        do(tmp_path, stage)

    def read(config: ShowConfig) -> None:
        for table in ("corpus", "topk"):
            list(read_parts(RunReader(config.out, create=False).store, table))

    argv = ["--out", str(tmp_path), "--neuron", "1:1"]
    assert main(ShowConfig, "show", "", read, argv) == 0
    path = tmp_path / name / "part-00000.parquet"
    path.write_bytes(bytes([*path.read_bytes()[:4], *[255] * 30, *path.read_bytes()[34:]]))
    assert main(ShowConfig, "show", "", read, argv) == 2
    job = {"corpus": "ingest"}.get(name, name)
    said = f"error: --out {tmp_path}: {name}/part-00000.parquet is damaged; to rebuild {name}/, run"
    assert capsys.readouterr().err == f"{said} atlas {job} --out {tmp_path} --redo\n"
    path.unlink()
    assert main(ShowConfig, "show", "", read, argv) == 2
    said = said.replace("is damaged", "is missing")
    assert capsys.readouterr().err == f"{said} atlas {job} --out {tmp_path} --redo\n"


def test_what_is_wrong_is_said_without_what_is_to_be_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of nobody in one table, and one missing in another."""
    for stage in ("ingest", "topk"):
        do(tmp_path, stage)
    (tmp_path / "corpus" / "mine.parquet").write_bytes(b"x")
    run = Run(str(tmp_path))
    run.check_files("ingest", "topk")
    assert capsys.readouterr().err.startswith("note: corpus/mine.parquet: not part of this run")
    (tmp_path / "topk" / "part-00000.parquet").unlink()
    with pytest.raises(InputError, match=r"topk/part-00000\.parquet is missing"):
        run.check_files("ingest", "topk")
    assert capsys.readouterr().err == ""


def test_a_column_is_looked_for_in_a_corpus_that_is_as_it_was_written(tmp_path: Path) -> None:
    for stage in ("ingest", "topk"):
        do(tmp_path, stage)
    (tmp_path / "topk" / "part-00000.parquet").replace(tmp_path / "corpus" / "part-00000.parquet")
    said = r"corpus/part-00000\.parquet (is not as ingest wrote it|belongs to another run)"
    with pytest.raises(InputError, match=said):
        check_column(Run(str(tmp_path)), "--label", "topic")
