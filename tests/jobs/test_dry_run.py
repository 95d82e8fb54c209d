"""A dry run says what would be done, refuses what the command itself refuses, and touches nothing."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.options.configs import INGEST_ONLY, CorpusConfig, StageConfig
from jobs.run_folder.stages import STAGES
from jobs.stage.dry_run import DryRun, size
from ops.errors import InputError
from tests.all_jobs import find_jobs
from tests.conftest import ROOT
from tests.jobs.in_process import InProcess, Stopped

JOBS = {name: job for name, job in find_jobs().items() if issubclass(job.options, StageConfig)}
SENTENCES = 130


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> InProcess:
    made = InProcess()
    monkeypatch.setattr("jobs.stage.runner.fan_out", made)
    monkeypatch.setattr(DryRun, "timed_s", 0.1)
    return made


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "a.jsonl"
    kinds = ("cat", "dog", "bird", "old man", "green car")
    lines = [
        {"text": f"The {kinds[i % 5]} of house {i} sat on the mat.", "doc_id": str(i // 4)} for i in range(SENTENCES)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, lines[3]]))
    return path


@pytest.fixture(scope="module")
def model(make_model: Callable[..., Path], small_bert: Any) -> Path:
    return make_model(small_bert)


@pytest.fixture
def do(tmp_path: Path, source: Path, model: Path) -> Callable[..., None]:
    """Run a job on the small source and model in `tmp_path / "run"`; options that it does not have are skipped."""

    def do_job(job: str, **options: Any) -> None:
        config = JOBS[job].options
        values = {"out": str(tmp_path / "run"), "model": str(model), "corpus": (str(source),), "split": "none"}
        values |= {"shard_size": 40, "k": 20, "activation_sample": 30, "workers": 2, "clusters": 12, "cluster_seeds": 2}
        values |= {"min_count": 2, **options}
        if not values["corpus"]:
            values = {k: v for k, v in values.items() if k not in INGEST_ONLY}
        JOBS[job].run(config.model_validate({k: v for k, v in values.items() if k in config.model_fields}))

    return do_job


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and folder with its time and bytes."""
    found = [folder.parent, *([folder, *folder.rglob("*")] if folder.exists() else [])]
    return {str(p): (p.stat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in found}


@pytest.fixture
def look(
    do: Callable[..., None], engine: InProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Do a dry run, see that it touches nothing and spreads no work, and return what it says."""

    def look_into(job: str, **options: Any) -> str:
        before = state(tmp_path / "run")
        engine.most = 0
        capsys.readouterr()
        do(job, dry_run=True, **options)
        engine.most = None
        assert state(tmp_path / "run") == before
        return capsys.readouterr().out

    return look_into


def stages(said: str) -> list[str]:
    return [line for line in said.splitlines() if line in STAGES]


EXPECTED = {
    "ingest": ["ingest"],
    "topk": ["ingest", "topk"],
    "mixing": ["ingest", "mixing"],
    "positions": ["ingest", "positions"],
    "psi": ["psi", "ingest", "psi/contextual"],
    "meaning": ["ingest", *(f"meaning/{p}" for p in ("counts", "offsets", "confusion", "sentences", "hashing"))],
    "run": ["ingest", "topk", "annotate", "mine", "explain", "tokens"],
}

# What the model reads, beside shards and sentences.
NOTES = {
    "positions": ["each 5 times: default, none, shuffled, shifted, constant\n"],
    "meaning": ["then the model reads at most 520 sentences\n", " words in 4 spaces\n"],
}


def test_every_job_that_may_begin_with_sources_is_tried() -> None:
    timed_with_labels = {"finetune"}  # in test_finetune: only a corpus says how many documents have a label
    assert set(EXPECTED) | timed_with_labels == {
        name for name, job in JOBS.items() if issubclass(job.options, CorpusConfig)
    }


@pytest.mark.parametrize("job", EXPECTED)
def test_of_a_new_run_every_stage_is_described_and_nothing_is_made(
    look: Callable[..., str], tmp_path: Path, job: str
) -> None:
    said = look(job)
    assert stages(said) == EXPECTED[job]
    assert not (tmp_path / "run").exists()
    assert said.count("\n  time    ") == said.count("\n  disk    about") == len(EXPECTED[job])
    assert "number 130 sentences in 4 shards of 40" in said  # all of the source was read, and one is a copy
    for note in NOTES.get(job, ()):
        assert note in said
    assert re.search(r"^in all: about .*\nfree at .*\nnothing was started", said, re.MULTILINE)
    for stage in EXPECTED[job]:
        assert f" {STAGES[stage].tables[0]}/" in said


def test_a_baseline_of_none_is_planned_as_that(look: Callable[..., str]) -> None:
    said = look("run", k=2, activation_sample=0, baseline_size=0)
    (planned,) = re.findall(r"annotate\n  do      4 of 4 shards, (\d+) of", said)
    assert int(planned) < 100


def test_of_a_limited_run_the_later_stages_are_told_by_the_limit_and_room_is_required(
    look: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = look("run", limit=70)
    assert "topk\n  do      2 of 2 shards, 70 of 70 sentences" in said
    assert "annotate\n  do      2 of 2 shards, 70 of 70 sentences" in said
    monkeypatch.setattr("ops.storage.store.Store.free_bytes", lambda store: 1_000)
    with pytest.raises(InputError, match=r"0\.0 GB are free there"):
        look("topk")


def test_of_a_stopped_run_what_is_missing_is_told(
    look: Callable[..., str], do: Callable[..., None], engine: InProcess
) -> None:
    engine.most = 3 + 1 + 2  # pieces, copies and tables; the pilot; two of four shards
    with pytest.raises(Stopped):
        do("run")
    said = look("run")
    assert "ingest\n  already done: 130 sentences\n" in said
    assert re.search(r"topk\n  do      2 of 4 shards, (50|80) of 130 sentences", said)
    assert "merge: 1 of 1 ranges of neurons" in said
    assert stages(said) == EXPECTED["run"]


@pytest.mark.slow
def test_of_a_finished_run_nothing_is_left_and_redo_drops_what_follows(
    look: Callable[..., str], do: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    do("run", no_scores=True, keep_partials=True)
    with monkeypatch.context() as read_only:
        read_only.setattr("ops.storage.read_only.os.access", lambda *_: False)
        done = look("run", no_scores=True)
        with pytest.raises(InputError, match="cannot be written"):
            look("topk", redo=True, corpus=())
    assert done.count("already done: ") == 6
    assert "in all: nothing to do" in done
    assert "time" not in done
    assert re.search(r"about 1[0-3]\d sentences are read token by token", look("tokens", redo=True))
    again = look("topk", redo=True, corpus=())
    assert "drop    existing tables of topk, annotate, mine, explain, tokens\n" in again
    assert "4 of 4 shards, 130 of 130 sentences" in again
    mined = look("mine", redo=True, no_scores=True)
    assert "scores" not in mined
    assert "tables: 1 of 1 ranges of neurons" in mined
    disk = [look("explain", redo=True, units=units).partition("disk    about")[2] for units in ((), ("1:0",))]
    assert disk[0] != disk[1]
    whole = look("run", redo=True, no_scores=True)
    assert "drop    existing tables of ingest, topk, annotate, mine, explain, tokens\n" in whole
    assert "1 of 1 pieces" in whole
    assert "4 of 4 shards, 130 of 130 sentences" in look("annotate", redo=True)


@pytest.mark.slow
def test_side_jobs_tell_what_is_missing_and_what_is_done(
    look: Callable[..., str], do: Callable[..., None], engine: InProcess
) -> None:
    engine.most = 3 + 2
    with pytest.raises(Stopped):
        do("mixing", per_token=True)
    half = look("mixing", per_token=True, corpus=())
    assert re.search(r"2 of 4 shards, (50|80) of 130 sentences\n  write .* mixing/tokens/", half)
    do("mixing", per_token=True, corpus=())
    assert "mixing\n  already done: 130 sentences scored" in look("mixing", per_token=True, corpus=())
    do("psi", corpus=())
    said = look("psi", corpus=())
    assert said.count("already done") == 2
    assert "drop    existing tables of psi\n" in look("psi", corpus=(), redo=True, static_only=True)


def test_other_options_are_refused_in_the_same_words(
    look: Callable[..., str], do: Callable[..., None], tmp_path: Path
) -> None:
    do("topk")
    with pytest.raises(InputError) as real:
        do("topk", k=21)
    before = state(tmp_path / "run")
    with pytest.raises(InputError) as dry:
        do("topk", k=21, dry_run=True)
    assert str(dry.value) == str(real.value)
    assert "k (was 20, is 21)" in str(dry.value)
    assert state(tmp_path / "run") == before
    look("topk", k=21, redo=True, corpus=())


@pytest.mark.parametrize("job", sorted(JOBS.keys() - {"ingest", "psi", "run"}))
def test_missing_stages_are_refused_in_the_same_words(do: Callable[..., None], job: str) -> None:
    said = []
    for dry in (False, True):
        with pytest.raises(InputError) as found:
            do(job, corpus=(), dry_run=dry)
        said.append(str(found.value))
    assert said[0] == said[1]


def test_where_no_source_tells_its_length_estimates_are_for_a_million(
    look: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.estimate.source_sample.piece_extent", lambda piece: None)
    said = look("run", shard_size=100_000)
    assert said.count("for each 1,000,000 sentences: how many there are is known once ingest is done") == 6
    assert "topk\n  do      10 of 10 shards" in said
    assert said.count("for --limit 70 sentences") == 0
    assert "for --limit 70 sentences" in look("ingest", limit=70)


@pytest.mark.slow
def test_the_command_starts_no_ray(source: Path, model: Path, tmp_path: Path) -> None:
    program = "import sys; from jobs.run.job import *; status = JOB.main(); print(status, 'ray' in sys.modules)"
    options = ["--out", tmp_path / "run", "--corpus", source, "--model", model, "--shard-size", "40"]
    options += ["--k", "5", "--dry-run"]
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, options)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 False"
    assert stages(done.stdout) == EXPECTED["run"]
    assert done.stderr == ""
    assert not (tmp_path / "run").exists()


def test_sizes_are_for_people() -> None:
    assert [size(n) for n in (0, 3_100, 9_960, 20e6, 1.26e9, 82e9)] == [
        "0 kB", "3.1 kB", "10 kB", "20 MB", "1.3 GB", "82 GB",
    ]  # fmt: skip
