"""Any command line and any YAML file: a job begins with checked options, or one line says what is wrong, status 2."""

import contextlib
import io
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.stage.command_line import main
from jobs.stage.options import JobConfig, flag_of
from tests.all_jobs import find_jobs

JOBS = {name: job.options for name, job in find_jobs().items() if issubclass(job.options, JobConfig)}
FLAGS = sorted({flag_of(name) for config in JOBS.values() for name in config.model_fields})
ODD = [
    *("", "-1", "0", "1", "1e400", "-0.0", "nan", "inf", "9" * 30, "0x10", "True", "None", "[]", "{}", "é", "\x1b[31m"),
    *("\udce9", "a\nb", "--", "-", "=", "s3://KEY:hidden@b/k", "small", "english", "auto", "../x", "a b", "*.txt"),
]
WORDS = st.one_of(st.sampled_from(FLAGS), st.sampled_from(ODD), st.text(max_size=12))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(ODD)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(ODD), inner, max_size=2)),
    max_leaves=4,
)
SETTINGS = settings(max_examples=75, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])


def call(job: str, argv: list[str]) -> None:
    """Run a job by this command line, but for the work itself."""
    began: list[JobConfig] = []
    said, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(said):
        status = None
        with contextlib.suppress(SystemExit):
            status = main(JOBS[job], job, "About.", began.append, argv)
    if status is None:
        assert "Usage" in said.getvalue(), argv
        return
    assert status == (0 if began else 2), (argv, told.getvalue())
    if began:
        assert isinstance(began[0], JOBS[job])
        assert told.getvalue() == ""
    else:
        (line,) = told.getvalue().splitlines()
        assert line.startswith("error: "), line
        assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cs")], ascii(line)
        assert "hidden" not in line.replace("'hidden'", ""), "a value that was cut out for no reason"


@given(job=st.sampled_from(sorted(JOBS)), argv=st.lists(WORDS, max_size=6))
@SETTINGS
def test_any_command_line(job: str, argv: list[str]) -> None:
    call(job, argv)


@given(job=st.sampled_from(sorted(JOBS)), flag=st.sampled_from(FLAGS), value=st.one_of(WORDS, st.integers().map(str)))
@SETTINGS
def test_any_value_of_any_option(job: str, flag: str, value: str) -> None:
    call(job, ["--out", "x", flag, value])


def test_a_job_may_print_what_its_terminal_has_no_letters_for(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(said, "ascii", write_through=True))
    assert main(JOBS["report"], "report", "About.", lambda config: print(config.out), ["--out", "é"]) == 0
    assert said.getvalue() == b"\\xe9\n"


@pytest.mark.parametrize("job", find_jobs())
@pytest.mark.parametrize("value", ["9" * 30, "inf"])
def test_no_number_is_larger_than_any_table_holds(capsys: pytest.CaptureFixture[str], job: str, value: str) -> None:
    options = find_jobs()[job].options
    numbers = [name for name, field in options.model_fields.items() if isinstance(field.default, int | float)]
    for name in numbers:
        if not isinstance(options.model_fields[name].default, bool):
            argv = [flag_of(name), value]
            assert main(options, job, "About.", lambda config: None, argv) == 2, argv
            assert len(capsys.readouterr().err.splitlines()) == 1


@given(
    job=st.sampled_from(sorted(JOBS)),
    held=st.dictionaries(st.sampled_from([flag[2:].replace("-", "_") for flag in FLAGS]), VALUES, max_size=3),
)
@SETTINGS
def test_any_values_in_a_file(tmp_path: Path, job: str, held: dict[str, Any]) -> None:
    import yaml

    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(held, allow_unicode=True), encoding="utf-8", errors="replace")
    call(job, ["--out", "x", "--config", str(file)])


@given(job=st.sampled_from(sorted(JOBS)), data=st.one_of(st.binary(max_size=80), st.text(max_size=80).map(str.encode)))
@SETTINGS
def test_any_bytes_in_a_file(tmp_path: Path, job: str, data: bytes) -> None:
    file = tmp_path / "run.yaml"
    file.write_bytes(data)
    call(job, ["--out", "x", "--config", str(file)])
