"""What a job writes to a terminal: no control of the corpus's, any alphabet, and an end where nobody reads on."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.ingest.job import IngestConfig
from jobs.options.configs import Config
from jobs.psi.job import PsiConfig
from jobs.run_folder.publish import check_tables
from jobs.run_folder.run import Run
from jobs.show import printing
from jobs.show.job import JOB as SHOW
from jobs.show.job import ShowConfig
from jobs.stage.main import main
from ops.corpus.accounts import account_lines
from tests.conftest import ROOT
from tests.jobs.test_record import do, tables

ESCAPE = "a\x1b]0;mine\x07 \u202eb"

PROGRAM = """
import sys
from jobs.ingest.job import IngestConfig
from jobs.stage.main import main
def run(config):
    while True:
        print("line " * 100)
sys.exit(main(IngestConfig, "ingest", "", run, ["--out", "x", "--corpus", "pydocs"]))
"""


def test_who_reads_no_further_ends_a_job_without_a_word() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("line")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_who_reads_no_list_of_jobs_gets_no_error() -> None:
    command = [sys.executable, "-m", "jobs"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


DEAF = """
import sys
sys.argv[0] = "atlas"
from jobs.ingest.job import IngestConfig
from jobs.stage.main import main
from ops.errors import InputError
def run(config):
    wrong = input()
    for _ in range(3):
        print("message " * 100, file=sys.stderr)
    if wrong:
        raise InputError(wrong)
    print("done")
sys.exit(main(IngestConfig, "ingest", "", run, ["--out", "x", "--corpus", "pydocs"]))
"""


@pytest.mark.parametrize(("wrong", "said", "status"), [("", "done\n", 0), ("no such file", "", 2)])
def test_who_reads_no_messages_stops_no_work_and_gets_its_status(wrong: str, said: str, status: int) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", DEAF], cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        assert process.stderr is not None
        process.stderr.close()
        process.stderr = None
        assert process.communicate(f"{wrong}\n")[0] == said
    assert process.returncode == status


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_the_corpus_s_words_are_printed_in_any_alphabet_and_as_no_control(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stream, encoding=encoding, errors="strict"))

    def say(config: ShowConfig) -> None:
        printing.print_facts(config, None, lambda width: f"{ESCAPE} \u6771\u4eac \ud800 \xe9")
        as_json = config.model_copy(update={"format": "json"})
        printing.print_facts(as_json, {"text": f"{ESCAPE} \u6771\u4eac"}, str)

    assert main(ShowConfig, "show", "About.", say, ["--out", "x"]) == 0
    text, line, _ = stream.getvalue().decode(encoding).split("\n")
    assert "a\\x1b]0;mine\\x07 \\u202eb" in text
    assert json.loads(line) == {"text": f"{ESCAPE} \u6771\u4eac"}
    assert "\x1b" not in text + line


def test_parts_of_messages_that_are_not_text_are_told() -> None:
    counts = dict.fromkeys(("sentences", "kept", "copies", "rejected", "not_sampled", "truncated", "tokens"), 3)
    account = {"dataset": "talk", **counts, "truncated_tokens": 0, "reject_reasons": {"not_text": 2, "empty": 1}}
    (_, line) = account_lines([account])
    assert line == "ingest: talk: 2 values left out that are not text, such as images in messages"


def test_names_of_data_sets_and_files_are_printed_as_no_control(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = dict.fromkeys(
        ("sentences", "kept", "copies", "rejected", "not_sampled", "truncated", "tokens", "truncated_tokens"), 1
    )
    line, warning = account_lines([{"dataset": ESCAPE, **counts}])
    do(tmp_path, "ingest")
    (tmp_path / "corpus" / "mine\x1b[31m.parquet").touch()
    run = Run(str(tmp_path))
    check_tables(run.store, ["ingest"], run.record, footers=True)
    said = line + warning + capsys.readouterr().err
    assert "a\\x1b]0;mine" in said
    assert "mine\\x1b[31m.parquet" in said
    assert "\x1b" not in said
    assert tables(tmp_path) == ["corpus/mine\x1b[31m.parquet", "corpus/part-00000.parquet"]


@pytest.mark.parametrize(
    ("config", "argv", "said"),
    [
        (PsiConfig, ["--cluster-seeds", "1000000"], "--cluster-seeds '1000000': should be less than or equal to 100"),
        (ShowConfig, ["--neuron", "1:" + "9" * 30], "--neuron"),
        (IngestConfig, ["--seed", "9" * 30], "--seed"),
        (IngestConfig, ["--config", "."], "--config ."),
    ],
)
def test_what_no_job_could_do_is_refused(config: type[Config], argv: list[str], said: str, tmp_path: Path) -> None:
    def run(given: Config) -> None:
        SHOW.run(given) if isinstance(given, ShowConfig) else None

    do(tmp_path, "ingest")
    told = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", told)
        assert main(config, "job", "", run, ["--out", str(tmp_path), *argv]) == 2
    assert said in told.getvalue()
    assert told.getvalue().count("\n") == 1
