"""`--redo` keeps what is there until it has better: a source that turns out to be broken costs nothing."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from jobs.ingest import job as ingest
from jobs.ingest.job import IngestConfig
from jobs.stage.main import main
from ops.storage.streams import locate


def call(out: Path, source: Path, *options: str) -> int:
    argv = ["--out", str(out), "--corpus", str(source), "--split", "none", "--workers", "1", *options]
    return main(IngestConfig, "ingest", "", ingest.JOB.run, argv)


def contents(out: Path) -> dict[str, bytes]:
    return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}


def test_a_source_that_breaks_in_the_middle_costs_no_result_and_its_options_do_not_stick(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, source = tmp_path / "run", tmp_path / "a.csv"
    rows = [f"This is row number {i} of the text\n" for i in range(1_000)]
    source.write_text("text\n" + "".join(rows[:20]))
    assert call(out, source) == 0
    before = contents(out)
    source.write_text("text\n" + "".join(rows[:750]) + "one, two\n" + "".join(rows[750:]))
    assert call(out, source, "--redo", "--shard-size", "7") == 2
    assert "a.csv: row 750 (line 752): 2 cells" in capsys.readouterr().err
    assert contents(out) == before
    source.write_text("text\n" + "".join(rows))
    assert call(out, source, "--redo", "--shard-size", "300") == 0
    assert [pq.read_metadata(p).num_rows for p in sorted((out / "corpus").iterdir())] == [300, 300, 300, 100]
    assert json.loads((out / "run.json").read_text())["stages"]["ingest"]["identity"]["shard_size"] == 300


def test_a_refused_command_is_corrected_without_redo(tmp_path: Path) -> None:
    out, source = tmp_path / "run", tmp_path / "a.csv"
    source.write_text("text\nThis is the first row\none, two\n")
    assert call(out, source, "--shard-size", "7") == 2
    assert not (out / "run.json").exists()
    assert call(out, source, "--shard-size", "9", "--on-error", "reject") == 0


def test_what_was_read_is_kept_if_the_storage_of_a_source_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Failing:
        def open_input_stream(self, *_: object, **__: object) -> None:
            raise OSError("AWS Error NETWORK_CONNECTION: Timeout was reached")

    out = tmp_path / "run"
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(f"This is the row of {name}\n")

    def failing(path: str) -> tuple[object, str]:
        return (Failing(), path) if path.endswith("c.txt") and any(out.rglob("piece-00001.*")) else locate(path)

    with monkeypatch.context() as patch:
        patch.setattr("ops.storage.streams.locate", failing)
        assert call(out, tmp_path / "*.txt") == 2
    assert "c.txt: cannot be opened (AWS Error NETWORK_CONNECTION" in capsys.readouterr().err
    assert len(list(out.rglob("piece-*.sentences.parquet"))) == 2
    assert call(out, tmp_path / "*.txt") == 0
    assert "2 of 3 pieces" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_a_source_in_another_encoding_is_told_as_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """With a letter beyond ASCII in every row."""
    source = tmp_path / name
    source.write_bytes(("text\n" + "".join(f"Größe möchte über Satz {i} gelten\n" for i in range(9))).encode("latin-1"))
    if name == "a.txt":
        source.write_bytes(source.read_bytes().removeprefix(b"text\n"))
    assert call(tmp_path / "run", source) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "UTF-8" in said
    assert "iconv" in said
    assert not {"{", "--split"} & {*said.split()}
