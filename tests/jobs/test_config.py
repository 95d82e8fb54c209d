"""Flags win over the YAML file, the file over the preset, the preset over the defaults."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobs.__main__ import main as list_jobs
from jobs.browse.job import JOB as BROWSE
from jobs.engine.item import EngineError
from jobs.ingest.job import JOB as INGEST
from jobs.ingest.job import IngestConfig
from jobs.options.command_line import parse
from jobs.run.job import JOB as RUN
from jobs.run.job import RunConfig
from jobs.show.job import ShowConfig
from jobs.stage.main import Job, main
from jobs.topk.steps import many_winners
from jobs.train_english.job import JOB as TRAIN_ENGLISH
from ops.errors import InputError, LostRunError, TerminatedError
from ops.meaning.counts import read_context_words
from ops.meaning.offsets import read_analogies
from tests.conftest import ROOT


def read(*argv: str) -> RunConfig:
    return parse(RunConfig, "run", "About.", list(argv))


def test_presets_set_sizes_and_never_cap_the_corpus() -> None:
    small, paper, plain = read("--preset", "small"), read("--preset=paper"), read()
    assert (small.k, small.activation_sample, small.baseline_size) == (100, 5_000, None)
    assert (paper.k, paper.baseline_size) == (10_000, 1_000_000)
    assert [own.k_per_dataset for own in (small, paper, plain)] == [50, 1_000, 0]
    assert (paper.subtree_root, small.subtree_root) == ("collapse", "keep")
    assert (plain.activation_sample, plain.poles, plain.seed) == (10_000, "both", 0)
    assert small.shard_size == paper.shard_size == plain.shard_size == "auto"
    assert small.limit is paper.limit is plain.limit is None


def test_what_wins_over_what(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("preset: small\nk: 7\nshard-size: 11\ncorpus: a.txt\nredo: true\n")
    found = read("--config", str(file), "--k", "9", "--corpus", "b, c.txt", "--corpus", "d.txt")
    assert (found.k, found.shard_size, found.activation_sample, found.redo) == (9, 11, 5_000, True)
    assert found.corpus == ("b, c.txt", "d.txt")
    assert read("--config", str(file)).corpus == ("a.txt",)


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["--k", "0"], "--k '0'"),
        (["--word-min-support", "2"], "--word-min-support '2'"),
        (["--nothing", "1"], "--nothing"),
        (["--corpus"], "--corpus"),
        (["--k", "1", "--k", "2"], "--k"),
        (["--limit", "9" * 30], "is too large"),
        (["--near-dedup", "inf"], "--near-dedup"),
        (
            ["--corpus", "data/a.txt", "data/b.txt"],
            "is not the value of an option; quote a pattern such as 'data/*.txt'",
        ),
        (["--workers", "abc"], "--workers 'abc': should be a whole number or auto"),
        (["--limit", "2.5"], "--limit '2.5': should be a whole number"),
        (["--out", "\u00a0 "], "--out '\\xa0 ': is blank; leave it out or give a value"),
    ],
)
def test_wrong_values_are_named(argv: list[str], named: str) -> None:
    with pytest.raises(InputError) as found:
        read(*argv)
    assert named in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("limit: true", "limit 'true': should be a whole number"),
        ("workers: yes", "workers 'yes': should be a whole number or auto"),
        ("limit: 1:30", "limit '1:30': should be a whole number"),
        ("k: 5\nk: 6", "k is given twice"),
        ("shard-size: 5\nshard_size: 5", "shard_size is given twice"),
        ("config: other.yaml", "config in it names another file"),
        ("near_dedup: on", "near_dedup 'on': should be a number"),
        ("limit: 1e400", "limit"),
        (f"limit: {'9' * 30}", "is too large"),
        ("limits: 5", "unknown key 'limits'"),
        ("- k", "holds a list"),
        ("k: \x00", "is not YAML"),
        ("? [k]\n: 5", "--config"),
        ('k: !!int ""', "k '': is empty"),
        ("k: !!bool x", "k 'x': should be a whole number"),
        ("k: !!timestamp x", "k 'x': should be a whole number"),
        ('out: "\\UFFFFFFFF"', "cannot be read"),
        ("k: 2026-99-99", "k '2026-99-99': should be a whole number"),
        ('out: "b\\0c"', "out 'b\\x00c': holds a NUL character"),
        ('corpus: ["a.txt", "b\\0c"]', "corpus 'b\\x00c': holds a NUL character"),
    ],
)
def test_a_file_that_says_something_else_is_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as found:
        read("--config", str(file))
    assert named in str(found.value)
    assert str(file) in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("job", "argv", "named"),
    [
        (BROWSE, ["--out", "x", "--host", ""], "--host"),
        (TRAIN_ENGLISH, ["--out", ""], "--out"),
        (RUN, ["--out", "x", "--corpus", "a.txt", "--corpus", ""], "--corpus"),
        (RUN, ["--out", "x", "--config", "{file}"], "--config {file}: corpus"),
        (BROWSE, ["--config", "{host}"], "--config {host}: host"),
    ],
)
def test_an_empty_value_is_refused(
    job: Job[Any], argv: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `--host "$NAME"` gives it; Python would listen on every address."""
    files = {name: str(tmp_path / f"{name}.yaml") for name in ("file", "host")}
    Path(files["file"]).write_text("corpus: [a.txt, '']\n")
    Path(files["host"]).write_text("host: ''\n")
    assert job.main([word.format(**files) for word in argv]) == 2
    said = f"error: {named.format(**files)} '': is empty; leave it out or give a value\n"
    assert capsys.readouterr().err == said


def test_values_in_a_file_are_read_as_on_a_command_line(tmp_path: Path) -> None:
    """YAML 1.1 read 010 as 8, 1:30 as 90 seconds, and yes and no as true and false."""
    file = tmp_path / "run.yaml"
    file.write_text("limit: 010\nk: 16\nnear_dedup: 8e-1\nredo: yes\ncorpus: [no, 1:30, 2026-01-02, 7]\n")
    found = read("--config", str(file))
    assert (found.limit, found.k, found.near_dedup, found.redo) == (10, 16, 0.8, True)
    assert found.corpus == ("no", "1:30", "2026-01-02", "7")
    file.write_text("neuron: 1:7\n")
    assert parse(ShowConfig, "show", "About.", ["--config", str(file)]).neuron == "1:7"
    file.write_text("baseline_size: null\nlimit: ~\nnear_dedup:\n")
    empty = read("--config", str(file))
    assert (empty.baseline_size, empty.limit, empty.near_dedup) == (None, None, None)


def test_every_option_that_names_a_small_file_refuses_a_pipe(tmp_path: Path) -> None:
    """Each of them waited for a writer, and read /dev/zero without end."""
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    for option, read in {
        "--config": lambda path: parse(RunConfig, "run", "About.", ["--config", path]),
        "--context-words": lambda path: read_context_words(path, "keep"),
        "--analogies": read_analogies,
    }.items():
        for path in (pipe, "/dev/zero"):
            with pytest.raises(InputError, match=rf"^{option} {path}: .*\(a pipe or a device; write it to a file"):
                read(path)


def test_a_value_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    for argv in (["--word", "news=caf\udce9"], ["--out=caf\udce9"]):
        with pytest.raises(InputError, match=rf"^{argv[0][:5]}.*caf\udce9: is not valid UTF-8; check its encoding$"):
            parse(ShowConfig, "show", "About.", argv)
    file = tmp_path / "run.yaml"
    file.write_text('corpus: [a.txt, "caf\\uDCE9"]\n')
    with pytest.raises(InputError, match=r"corpus caf\udce9: is not valid UTF-8"):
        read("--config", str(file))


def test_a_value_that_the_locale_cannot_encode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the locale's encoding is ASCII, Python hands over the two bytes of an é as two lone surrogates."""
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "ascii")
    with pytest.raises(InputError, match="needs UTF-8, and the encoding of this locale is ascii; set PYTHONUTF8=1, or"):
        read("--out", "caf\udcc3\udca9")


def test_workers_that_run_no_model_and_draw_nothing_import_neither_pytorch_nor_matplotlib() -> None:
    program = "import sys; import jobs.audit.steps, jobs.explain.steps, jobs.mine.steps; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"torch", "matplotlib"} & set(loaded.stdout.split())


def test_nothing_heavy_is_imported_to_print_options() -> None:
    heavy = {"numpy", "pyarrow", "torch", "ray", "spacy", "transformers", "numba"}
    files = [*ROOT.glob("jobs/[!_]*.py"), *ROOT.glob("jobs/*/job.py")]
    jobs = ", ".join(".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files)
    program = f"import sys; import {jobs}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not heavy & set(loaded.stdout.split())


@pytest.mark.parametrize(
    "argv",
    [
        ["--out", "s3://AKIA:hidden@bucket/run"],
        ["--corpus", "NAME=s3://AKIA:hidden@bucket/a.csv"],
        ["--no-such-option", "s3://AKIA:hidden@bucket/a.csv"],
        ["--config", "{file}"],
    ],
)
def test_credentials_in_an_address_are_refused_and_never_shown(argv: list[str], tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("corpus: [a.txt, 's3://AKIA:hidden@bucket/a.csv']\n")
    with pytest.raises(InputError, match="credentials in an address") as error:
        read(*(word.format(file=file) for word in argv))
    assert "hidden" not in str(error.value)


def test_the_first_word_names_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert list_jobs(["foo"]) == 2
    assert "error: foo: is not a job; the jobs are annotate, audit, browse," in capsys.readouterr().err
    assert list_jobs(["topk", "--corpus", "pydocs"]) == 2
    assert "error: --out is missing" in capsys.readouterr().err
    assert list_jobs(["warm_up", "--bogus"]) == 2
    assert "error: Unknown option: --bogus. (atlas warm_up --help" in capsys.readouterr().err
    assert list_jobs([]) == 0


@pytest.mark.parametrize(("stop", "status"), [(KeyboardInterrupt, 130), (TerminatedError, 143)])
def test_a_job_that_is_stopped_ends_with_the_documented_status(
    stop: type[BaseException], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(config: IngestConfig) -> None:
        raise stop

    assert main(IngestConfig, "ingest", "", run, ["--out", "x", "--corpus", "pydocs"]) == status
    assert capsys.readouterr().err == "\nstopped; give the same command again to resume\n"
    assert "status 130 (SIGTERM: 143)" in (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("error", [EngineError, LostRunError])
def test_a_job_that_cannot_continue_ends_at_once_in_one_line(
    error: type[Exception], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(config: IngestConfig) -> None:
        raise error("x: was taken over")

    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit) as ended:
        main(IngestConfig, "ingest", "", run, ["--out", "x", "--corpus", "pydocs"])
    assert ended.value.code == 1
    assert capsys.readouterr().err == "error: x: was taken over\n"


@pytest.mark.parametrize(("number", "statuses"), [(signal.SIGINT, (-signal.SIGINT, 130)), (signal.SIGTERM, (143,))])
def test_who_stops_a_job_while_it_is_imported_gets_one_line(number: int, statuses: tuple[int, ...]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "jobs.topk", "--out", "x", "--corpus", "x.txt"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        # The jobs are there, and what they import is on its way.
        while "cyclopts" not in process.stderr.readline():
            pass
        process.send_signal(number)
        said = [line for line in process.stderr.read().splitlines() if line and not line.startswith("import time:")]
    assert said == ["stopped; give the same command again to resume"]
    assert process.returncode in statuses


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EBADF])
def test_storage_that_refuses_a_file_is_one_line_and_other_errors_are_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    """This happens when a previous table cannot be removed."""

    def run(config: IngestConfig) -> None:
        raise OSError(number, os.strerror(number), f"{config.out}/topk/part-00000.parquet")

    argv = ["--out", str(tmp_path), "--corpus", "pydocs"]
    if number == errno.EBADF:
        with pytest.raises(OSError, match="Bad file descriptor"):
            main(IngestConfig, "ingest", "", run, argv)
        return
    assert main(IngestConfig, "ingest", "", run, argv) == 1
    [said] = capsys.readouterr().err.splitlines()
    assert said.startswith(f"error: {tmp_path}/topk/part-00000.parquet: {os.strerror(number)}; ")
    assert "give the same command again" in said


def test_a_path_with_links_in_a_circle_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for out in (tmp_path / "loop", tmp_path / "loop" / "run"):
        assert INGEST.main(["--out", str(out), "--corpus", "pydocs"]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert str(out) in said
    assert said == f"error: {out}: Too many levels of symbolic links; check the path\n"


@pytest.mark.parametrize(("k", "warned"), [(5, False), (6, True)])
def test_many_winners_of_few_sentences_draw_a_warning(k: int, warned: bool) -> None:
    assert many_winners(k, 100).startswith("K = 6 is more than one in 20 of the 100 sentences") == warned
