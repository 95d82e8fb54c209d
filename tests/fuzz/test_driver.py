"""The driver of hostile commands finds each kind of fault, planted in a job of this file, and none in an honest one."""

import json
import math
import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.stage.options import StageConfig
from ops.schema import schema
from tests.all_jobs import find_jobs
from tests.fuzz.commands import Case, Drawing
from tests.fuzz.corpora import FORMATS, draw_source
from tests.fuzz.driver import Verdict, Worker, run_case
from tests.fuzz.perform import Command
from tests.fuzz.promises import check_table
from tests.fuzz.world import World

Work = Callable[[Path], int | None]


class Planted:
    """A job of which this file says what it does."""

    options = StageConfig

    def __init__(self, work: Work) -> None:
        self.work = work

    def main(self, argv: list[str]) -> int:
        if "--dry-run" in argv and self.work is not write_under_dry_run:
            return 0
        out = Path(argv[1])
        if (out / "run.json").exists() and self.work not in (other_the_second_time, silent_the_second_time):
            print("ingest: already done, 2 sentences", file=sys.stderr)
            return 0
        return self.work(out) or 0


def refuse(text: str, status: int = 2) -> int:
    print(text, file=sys.stderr)
    return status


def write_run(out: Path, score: float = 0.5, counted: int = 2, rows: int = 2) -> None:
    """Write what a finished run of `ingest` and `topk` may look like, as far as it is checked."""
    table = pa.table(
        {"sent_id": [0, 1], "text": ["a", "b"], "dataset": ["a"] * 2, "doc_id": ["a"] * 2, "sent_in_doc": [0, 1],
         "n_tokens": [3, 3], "n_copies": [1, 1]}
    ).cast(schema("corpus"))  # fmt: skip
    winners = {"layer": [1, 1], "unit": [0, 0], "pole": ["top", "top"], "rank": [1, 2], "activation": [score, 0.1]}
    tables = {"corpus": table, "rejects": schema("rejects").empty_table()}
    tables["topk"] = pa.table({**winners, "sent_id": [1, 0]}).cast(schema("topk"))
    files = {}
    for name, held in tables.items():
        path = out / name / "part-00000.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(held, path)
        count = rows if name == "corpus" else held.num_rows
        files[name] = [{"name": f"{name}/part-00000.parquet", "rows": count, "bytes": path.stat().st_size}]
    source = {"dataset": "a", "sentences": 2, "kept": counted, "copies": 0, "rejected": 0, "not_sampled": 0}
    ingest = {"complete": True, "counts": {"sentences": 2, "sources": [source]}}
    topk = {"scored": 2, "unscored": 0, "activation_sample": 0, "neurons": 0}
    stages = {"ingest": ingest, "topk": {"complete": True, "counts": topk, "identity": {"k": 2}}}
    (out / "run.json").write_text(json.dumps({"stages": stages, "tables": files}))


def raise_error(out: Path) -> None:
    raise ZeroDivisionError("division by zero")


def warn(out: Path) -> None:
    write_run(out)
    print("x.py:3: RuntimeWarning: invalid value", file=sys.stderr)


def write_below_python(out: Path) -> None:
    write_run(out)
    os.write(2, b"Traceback (most recent call last):\n")


def write_elsewhere(out: Path) -> None:
    write_run(out)
    (Path.home() / "notes.txt").write_text("mine\n")


def write_nearby(out: Path) -> None:
    write_run(out)
    Path("left.tmp").write_text("")


def write_under_dry_run(out: Path) -> None:
    write_run(out)
    print("ingest: already done", file=sys.stderr)


def other_the_second_time(out: Path) -> int | None:
    if out.exists():
        return refuse("error: it was run with other options")
    write_run(out)
    return None


def silent_the_second_time(out: Path) -> None:
    write_run(out)


FAULTS: dict[str, tuple[Work, str]] = {
    "an exception": (raise_error, "a traceback: ZeroDivisionError"),
    "a traceback below Python": (write_below_python, "stderr holds what no user is to see: Traceback"),
    "a warning": (warn, "stderr holds what no user is to see"),
    "another status": (lambda out: refuse("error: x", 3), "its status is 3"),
    "status 1 without a reason": (lambda out: refuse("error: x", 1), "storage refused nothing"),
    "two lines": (lambda out: refuse("well\nerror: x"), "with a line more: well"),
    "two errors": (lambda out: refuse("error: x\nerror: y"), "with 2 lines that begin with error:"),
    "no line": (lambda out: 2, "with 0 lines that begin with error:"),
    "a control": (lambda out: refuse("error: \x1b[31m"), "stderr holds '\\x1b'"),
    "a file of another": (write_elsewhere, "notes.txt' was changed"),
    "a file in the folder": (write_nearby, "left.tmp' was made"),
    "a dry run that writes": (write_under_dry_run, "with --dry-run: "),
    "a value that is not finite": (lambda out: write_run(out, score=math.nan), "topk/: activation is not finite"),
    "other counts": (lambda out: write_run(out, counted=1), "2 rows of corpus/, 2 sentences counted"),
    "other rows": (lambda out: write_run(out, rows=3), "run.json says 3"),
    "refused the second time": (other_the_second_time, "the same again: its status is 2"),
    "done twice": (silent_the_second_time, "does not say that it was done before"),
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world without models and finished runs."""
    made = World(tmp_path / "world")
    for folder in (made.home, made.files, made.root / "tmp", made.root / "caches"):
        folder.mkdir(parents=True)
    (made.home / "notes.txt").write_text("mine\n")
    made.begin_case()
    return made


def verdict_on(world: World, work: Work) -> Verdict:
    out = world.case / "run"
    argv = ("--out", str(out))
    command = Command("planted", argv, world.case / "cwd", world.variables(), (out,))
    jobs: Any = {"planted": Planted(work)}
    (verdict,) = run_case(Case(0, "nothing", [command], False, True), world, jobs, lambda text: None)
    return verdict


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(world: World, fault: str) -> None:
    work, expected = FAULTS[fault]
    verdict = verdict_on(world, work)
    assert expected in "; ".join(verdict.wrong)


@pytest.mark.parametrize("work", [write_run, lambda out: refuse("error: x"), lambda out: refuse("topk: 1\nerror: x")])
def test_an_honest_job_meets_its_promises(world: World, work: Work) -> None:
    assert verdict_on(world, work).wrong == []


def test_a_table_is_checked_by_its_schema() -> None:
    good = pa.table({"sent_id": [0, 1], "reason": ["a", "b"]}).cast(schema("unscored"))
    assert check_table("unscored", good) == []
    assert "order" in check_table("unscored", good.take([1, 0]))[0]
    assert "types" in check_table("unscored", good.select(["sent_id"]))[0]
    null = pa.table({"sent_id": pa.array([0, None], pa.int64()), "reason": ["a", "b"]}, schema("unscored"))
    assert check_table("unscored", null) == ["sent_id is null"]


def hang(root: Path, seed: int, to: Connection) -> None:
    """Stand for a process whose command never ends, or for one that a command ends."""
    while (number := to.recv()) is not None:
        to.send(("begin", f"{number}.0\npython -m jobs.x\nnothing"))
        if number:
            os._exit(7)
        to.recv()


def test_a_command_without_end_and_one_that_ends_the_process_are_verdicts(tmp_path: Path) -> None:
    for number, expected in ((0, "does not end"), (1, "ended the whole process with status 7")):
        worker = Worker(tmp_path / "world", 0, 0.05, hang)
        (verdict,) = worker.run(number)
        assert expected in verdict.wrong[0]
        assert (verdict.place, verdict.command) == (f"{number}.0", "python -m jobs.x")
        assert not worker.alive


def test_a_case_follows_from_its_seed_and_number(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every job is drawn, by options that its own list has."""
    (world.runs / "any").mkdir(parents=True)
    (world.runs / "any" / "run.json").write_text("{}")
    monkeypatch.setattr(World, "run", lambda self, name: self.runs / "any")
    seen = set()
    for number in range(120):
        drawn = [str(command) for command in Drawing(world, 7, number).draw().commands]
        if number < 7:
            assert drawn == [str(command) for command in Drawing(world, 7, number).draw().commands]
        seen |= {command.partition("-m jobs.")[2].partition(" ")[0] for command in drawn}
    assert seen == set(find_jobs())


def test_every_format_holds_ordinary_rows(tmp_path: Path) -> None:
    suffixes = {
        Path(draw_source(Random(n), tmp_path, hostile=0).partition("=")[2] or "a.txt").suffix for n in range(80)
    }
    assert suffixes <= {f".{part}" for name in FORMATS for part in name.split(".") if part}
