"""A job that is killed in the middle and started again writes the usual files, and repeats no finished work."""

import json
import shutil
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from jobs.contrast import job as contrast
from jobs.contrast.job import ContrastConfig
from jobs.ingest import job as ingest
from jobs.ingest.job import IngestConfig
from jobs.run_folder.run import Run
from jobs.run_folder.stages import PARTIALS, STAGES, stages_after
from tests.jobs.broken_site import broken_site
from tests.jobs.processes import MOST_S, committed, kill_when, start_job

PAUSE_S = 0.5  # seconds that each commit of a job takes until it is killed, so that the kill comes before the next one
AMID = "amid "


def row(job: str, run: str, *kills: str, frame: bool = False) -> Any:
    """Return a case.

    Args:
        job: the name of the job.
        run: the fixture of its undisturbed run, with whose options the job runs.
        kills: patterns of files below `_partials/`, in the order in which the files are written. The job is killed as
            soon as a file matches the first pattern, is started again and killed at the next one, and so on. These
            files complete an item, which must not be done again, unless the pattern begins with `AMID`.
        frame: whether the job stands for all jobs of its kind where time is short. It has two workers on Ray then;
            the others have one, without Ray.
    """
    name = "negatives" if kills[0].startswith("negatives") else job
    marks = [pytest.mark.faults, *([pytest.mark.kills] if frame else [])]
    return pytest.param(job, run, kills, 2 if frame else 1, id=name, marks=marks)


ROWS = [
    row("ingest", "ingest_run", "ingest/piece-*.sentences.parquet", frame=True),
    row("topk", "small_run", "topk/shard-*", frame=True),
    row("annotate", "small_run", "annotate/shard-*"),
    row("mine", "small_run", "mine/range-*", frame=True),
    row("explain", "explain_run", "explain/literals-*", "explain/explained-*"),
    row("tokens", "explain_run", "tokens/shard-*"),
    row(
        *("run", "explain_run", "ingest/distinct-documents-*", AMID + "ingest/tables/_tokens/part-*", "topk/shard-*"),
        *("mine/range-*", "explain/explained-*"),
    ),
    row("audit", "audit_run", "audit/literals-*", AMID + "audit/tables/audit/portability/part-*"),
    row("contrast", "whole_contrast_run", "contrast/units-*", "contrast/probes-*"),
    row("psi", "psi_run", "psi/vocabulary/tables/psi/clusters/part-*", "psi/contextual/shard-*"),
    row("mixing", "mixing_run", "mixing/shard-*", frame=True),
    row("positions", "positions_run", "positions/pilot*", "positions/shard-*"),
    row(
        *("meaning", "meaning_run", "meaning/counts/shard-*", "meaning/offsets/shard-*", "meaning/confusion/shard-*"),
        *("meaning/sentences/chosen*", "meaning/hashing/shard-*"),
    ),
    row("outputs", "outputs_run", "outputs/shard-*", "outputs/random-*", AMID + "outputs/tables/outputs/*/part-*"),
    row("finetune", "finetune_run", "finetune/losses-*"),
    row(
        *("compare", "compare_run", "compare/dimensions/basis-*"),
        *("compare/neighbours/tables/compare/neighbours/part-*", "compare/groups/tables/compare/group_traits/part-*"),
        *("compare/diversity/shard-*", "compare/matches/layer-*", "compare/runs/table-*", "compare/shift/block-*"),
        "compare/ablation/block-*",
    ),
]


@pytest.fixture(autouse=True)
def _faults_on_ray() -> None:
    """Start no Ray here: undisturbed runs need none, and a job that is killed is a process with a Ray of its own."""


@pytest.fixture(scope="module")
def ingest_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The job ingest on six files with copies of sentences within and across them: its run directory and the files."""
    folder = tmp_path_factory.mktemp("ingest")
    for number in range(6):
        rows = [{"text": f"row {i % 90} of some text number {number % 4}", "doc_id": f"d{i % 7}"} for i in range(200)]
        (folder / f"in{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"out": str(folder / "run"), "corpus": (f"{folder}/in*.jsonl",), "split": "none", "limit": 250}
    ingest.JOB.run(IngestConfig.model_validate({**options, "shard_size": 50, "workers": 2}))
    return folder / "run", folder


@pytest.fixture(scope="module")
def whole_contrast_run(contrast_run: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """That of `contrast_run` with all penalties and rotations, which a process of its own has too, and the model."""
    out = tmp_path_factory.mktemp("contrast") / "run"
    shutil.copytree(contrast_run[0], out)
    contrast.JOB.run(ContrastConfig(out=str(out), by=("word", "half"), workers=1, redo=True))
    return out, contrast_run[1]


@pytest.mark.parametrize(("job", "run", "kills", "workers"), ROWS)
def test_a_killed_job_resumes(
    job: str, run: str, kills: tuple[str, ...], workers: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    whole, out, log = request.getfixturevalue(run)[0], tmp_path / "run", tmp_path / "log"
    stages = list(Run(str(whole)).record["stages"] if job == "run" else dict.fromkeys(map(stage_of, kills)))
    write_options(tmp_path / "options", job, whole, stages, out=str(out), workers=workers, keep_partials=True)
    copy_without(whole, out, stages)
    before = kept = files(out)

    for pattern in kills:
        path, stage = f"{PARTIALS}/{pattern.removeprefix(AMID)}", stage_of(pattern)
        slow = broken_site(tmp_path, match=str(out / STAGES[stage].partials), pause=PAUSE_S)
        process = start_job(job, log, "--config", tmp_path / "options", **slow)
        kill_when(partial(committed, out, path), process, log)
        assert not Run(str(out)).complete(stage), "the kill came too late to show anything"
        if not pattern.startswith(AMID):
            # The files of a table keep their times when they are moved into place.
            kept = {name.rpartition("/tables/")[2]: time for name, time in committed(out, path).items()} | kept
    assert start_job(job, log, "--config", tmp_path / "options").wait(timeout=MOST_S) == 0, log.read_text()
    after = files(out)
    assert {name: after.get(name) for name in kept} == kept, "finished work was done again, or another file changed"
    expected, found = contents(whole, stages), contents(out, stages)
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name] != expected[name]] == []
    partials = tuple(f"{STAGES[stage].partials}/" for stage in stages)
    assert [name for name in after.keys() - before.keys() - found.keys() if not name.startswith(partials)] == []


def test_every_stage_but_the_report_is_killed() -> None:
    kills = [pattern for row in ROWS for pattern in row.values[2]]
    assert {stage_of(pattern) for pattern in kills} == STAGES.keys() - {"report"}


def stage_of(pattern: str) -> str:
    """Return the stage whose files a pattern of `ROWS` matches."""
    path = f"{PARTIALS}/{pattern.removeprefix(AMID)}"
    return next(stage for stage, facts in STAGES.items() if path.startswith(f"{facts.partials}/"))


def write_options(file: Path, job: str, whole: Path, stages: list[str], **changes: Any) -> None:
    """Write the options with which a job did these stages of a run, with some of them changed."""
    kind = import_module(f"jobs.{job}.job").JOB.options
    options: dict[str, Any] = {}
    for stage in stages:
        # Where a stage took the model that the run has, its option is empty.
        options |= {name: value for name, value in Run(str(whole)).require(stage)["config"].items() if value != ""}
    options = {name: value for name, value in options.items() if name in kind.model_fields}
    config = kind.model_validate({**options, **changes})
    file.write_text(json.dumps(config.model_dump(mode="json", exclude_defaults=True)))


def copy_without(whole: Path, out: Path, stages: list[str]) -> None:
    """Copy a run as it was before these stages."""
    record = Run(str(whole)).record
    for name in {later for stage in stages for later in (stage, *stages_after(stage))}:
        record["stages"].pop(name, None)
        for table in STAGES[name].tables:
            record["tables"].pop(table, None)
    for name in (file["name"] for files in record["tables"].values() for file in files):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(whole / name, out / name)
    if record["stages"]:
        (out / "run.json").write_text(json.dumps(record))


def files(out: Path) -> dict[str, int]:
    """Return when each file of a run was written, apart from run.json."""
    times = {str(path.relative_to(out)): path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    return {name: time for name, time in times.items() if name != "run.json"}


def contents(out: Path, stages: list[str]) -> dict[str, Any]:
    """Return what run.json says about stages, apart from times and options, and the bytes of their files."""
    run = Run(str(out))
    tables = [table for stage in stages for table in STAGES[stage].tables]
    names = [file["name"] for table in tables for file in run.record["tables"].get(table, [])]
    held: dict[str, Any] = {name: (out / name).read_bytes() for name in names}
    for stage in stages:
        entry = run.require(stage)
        counts = {name: count for name, count in entry["counts"].items() if name != "seconds"}
        held[stage] = (entry["fingerprint"], entry["identity"], counts)
    return held
