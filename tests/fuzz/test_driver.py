"""The driver finds each kind of fault, planted in a job of this file, and none in an honest one."""

import json
import math
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.options.configs import INGEST_ONLY, StageConfig, flag_of
from jobs.run_folder.stages import STAGES
from ops.schema import schema
from tests.all_jobs import find_jobs
from tests.fuzz import driver, perform
from tests.fuzz.commands import RUNS, Drawing, options_of
from tests.fuzz.driver import Verdict, judge
from tests.fuzz.models import MODELS
from tests.fuzz.perform import Command, Outcome
from tests.fuzz.promises import check_outcome, check_table
from tests.fuzz.sources import FORMATS, draw_source
from tests.fuzz.world import World

Work = Callable[[Path], int | None]


def write_run(out: Path, rows: int = 0, **counts: int) -> None:
    """Write what a finished run of `ingest` may look like, as far as it is checked."""
    out.mkdir()
    corpus, rejects = out / "corpus.parquet", out / "rejects.parquet"
    pq.write_table(schema("corpus").empty_table(), corpus)
    pq.write_table(schema("rejects").empty_table(), rejects)
    tables = {
        file.stem: [{"name": file.name, "rows": rows, "bytes": file.stat().st_size}] for file in (corpus, rejects)
    }
    source = dict.fromkeys(("sentences", "kept", "copies", "rejected", "not_sampled"), 0) | {"dataset": "a", **counts}
    stages = {"ingest": {"complete": True, "counts": {"sentences": 0, "sources": [source]}}}
    (out / "run.json").write_text(json.dumps({"stages": stages, "tables": tables}))


def say(text: str, status: int = 2) -> int:
    print(text, file=sys.stderr)
    return status


def after(work: Work) -> Work:
    """Return work that first writes a good run."""
    return lambda out: write_run(out) or (work(out) and None)


FAULTS: dict[str, tuple[Work, str]] = {
    "an exception": (lambda out: 1 // 0, "no user should see: ZeroDivisionError"),
    "a traceback below Python": (after(lambda out: os.write(2, b"Traceback (") * 0), "no user should see: Traceback"),
    "a crash": (lambda out: os.kill(os.getpid(), 9), "its status is -9"),
    "a file of another": (after(lambda out: Path.home().joinpath("notes.txt").unlink()), "notes.txt' was removed"),
    "a file in the folder": (after(lambda out: Path("left.tmp").write_text("")), "left.tmp' was made"),
    "counts of a source": (lambda out: write_run(out, copies=1), "sentences of a: 0 and 1"),
    "counts of rejects": (lambda out: write_run(out, sentences=1, rejected=1), "rows of rejects/: 0 and 1"),
    "another number of rows": (lambda out: write_run(out, rows=3), "and 0 rows, run.json says"),
}
PRINTED = {
    (0, "x.py:3: RuntimeWarning: invalid"): "no user should see: RuntimeWarning: invalid",
    (3, "error: x"): "its status is 3",
    (1, "error: x"): "storage refused nothing",
    (2, "well\nerror: x"): "with one more line: well",
    (2, "error: x\nerror: y"): "with 2 lines that begin with error:",
    (2, ""): "with 0 lines that begin with error:",
    (2, "error: \x1b[31m"): "stderr holds '\\x1b'",
    (2, "topk: 1 of 2\nerror: x"): "",
}


class Planted:
    """A job of which a test says what it does, at first, with --dry-run, and where the run exists."""

    options = StageConfig

    def __init__(self, work: Work, dry: Work, again: Work) -> None:
        self.work, self.dry, self.again = work, dry, again

    def main(self, argv: list[str]) -> int:
        out = Path(argv[1])
        work = self.dry if "--dry-run" in argv else self.again if (out / "run.json").exists() else self.work
        return work(out) or 0


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world whose models and finished runs are one small file each."""
    made = World(tmp_path / "world")
    made.make()
    for file in (*(made.models / name / "config.json" for name in MODELS), *(made.runs / n / "run.json" for n in RUNS)):
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"stages": {stage: {"complete": True} for stage in STAGES}}))
    made.begin_case()
    return made


@pytest.fixture
def verdict_on(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Verdict]:
    def run(work: Work, dry: Work = lambda out: 0, again: Work = lambda out: say("ingest: already done", 0)) -> Verdict:
        planted: Any = Planted(work, dry, again)
        monkeypatch.setattr(driver, "find_jobs", lambda: {"planted": planted})
        out = world.case / "run"
        command = Command("planted", ("--out", str(out)), world.case / "cwd", world.variables(), (out,))
        return judge("--only 0", Drawing(world, 0, 0), command, True)

    return run


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(verdict_on: Callable[..., Verdict], fault: str) -> None:
    work, expected = FAULTS[fault]
    assert expected in "; ".join(verdict_on(work).wrong)


def test_a_command_without_end_is_found(verdict_on: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perform, "LIMIT_S", 0.1)
    wrong = verdict_on(lambda out: len(os.read(os.pipe()[0], 1))).wrong
    assert re.search(r"it does not end: test_driver.py:\d+ <lambda>", "; ".join(wrong))


def test_a_fault_of_a_dry_run_or_of_the_same_again_is_found(verdict_on: Callable[..., Verdict], world: World) -> None:
    assert "the same again: its status is 2" in verdict_on(write_run, again=lambda out: say("error: other")).wrong
    world.begin_case()
    (line,) = verdict_on(write_run, again=lambda out: 0).wrong
    assert "does not say that it was done before" in line
    world.begin_case()
    assert "with --dry-run: " in verdict_on(write_run, dry=write_run).wrong[0]


def test_an_honest_job_keeps_its_promises(verdict_on: Callable[..., Verdict]) -> None:
    assert verdict_on(write_run).wrong == []


@pytest.mark.parametrize("printed", PRINTED)
def test_what_is_printed_is_checked(printed: tuple[int, str]) -> None:
    assert "; ".join(check_outcome(Outcome(printed[0], "", printed[1]))).endswith(PRINTED[printed])


def test_a_table_is_checked_by_its_schema() -> None:
    winner = {"layer": [1], "unit": [0], "pole": ["top"], "rank": [1], "activation": [math.nan], "sent_id": [1]}
    assert check_table("topk", pa.table(winner).cast(schema("topk"))) == ["activation is not finite"]
    good = pa.table({"sent_id": [0, 1], "reason": ["a", "b"]}).cast(schema("unscored"))
    assert check_table("unscored", good) == []
    assert "order" in check_table("unscored", good.take([1, 0]))[0]
    assert "types" in check_table("unscored", good.select(["sent_id"]))[0]
    null = pa.table({"sent_id": pa.array([0, None], pa.int64()), "reason": ["a", "b"]}, schema("unscored"))
    assert check_table("unscored", null) == ["sent_id is null"]


def test_a_case_follows_from_its_seed_and_number(world: World) -> None:
    """Every job with options is drawn, every option that says how sources are read, and windows and chats."""

    def drawn(number: int) -> list[str]:
        drawing = Drawing(world, 7, number)
        drawing.begin()
        return [str(drawing.command()) for _ in range(2)]

    cases = [drawn(number) for number in range(300)]
    assert cases[:7] == [drawn(number) for number in range(7)]
    jobs = {command.partition("-m jobs.")[2].partition(" ")[0] for commands in cases for command in commands}
    assert jobs == {job for job in find_jobs() if options_of(job)}
    words = {word for commands in cases for command in commands for word in command.split()}
    assert {flag_of(name) for name in INGEST_ONLY} <= words
    assert any(word.startswith("tokens:") for word in words)


def test_sources_are_of_every_kind(tmp_path: Path) -> None:
    rng = Random(7)
    for _ in range(500):
        draw_source(rng, tmp_path)
    files = {file: file.read_bytes() for file in tmp_path.iterdir()}
    assert {*FORMATS, ".gz", ".zst", ".md"} <= {file.suffix for file in files}
    assert any(data.startswith(b'{"messages"') for data in files.values())
    wrapped = [data for file, data in files.items() if file.suffix == ".txt" and b"\n\n" in data]
    assert any(len(line) > 50 for data in wrapped for line in data.splitlines())


def test_a_refused_command_is_mended_as_its_error_says(world: World) -> None:
    drawing = Drawing(world, 7, 0)
    drawing.begin()
    drawing.job, drawing.values = "mine", {"out": "x", "units": "x:1", "redo": False}

    def mend(error: str) -> str:
        return " ".join(getattr(drawing.mended(f"error: {error}"), "argv", ()))

    assert mend("--out x: there is no run here") == ""
    assert mend("--units 'x:1': expected LAYER:UNIT") == "--out x"
    drawing.job = "contrast"
    assert re.fullmatch(r"--out x --by \w+", mend("--by is missing: name a metadata key"))
    assert re.fullmatch(r"--out x --by \w+ --a \w+=\w+", mend("--a is missing: name the other group too"))
    drawing.job, drawing.values = "mine", {"out": "x", "redo": False}
    assert mend("--tag-max-gap 2: is too much; give --word-max-gap 0") == "--out x --word-max-gap 0"
    assert "--redo" in mend("--out x: mine was run with other options; name another --out, or --redo to replace it")
