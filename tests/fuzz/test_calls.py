"""Any command line and any YAML file: a job begins with checked options, or one line says what is wrong, status 2."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.options.configs import JobConfig, flag_of
from jobs.stage.main import main
from tests.all_jobs import find_jobs
from tests.fuzz.commands import ODD

JOBS = {name: job.options for name, job in find_jobs().items() if issubclass(job.options, JobConfig)}
NAMES = sorted({name for config in JOBS.values() for name in config.model_fields})
TEXTS = st.one_of(st.sampled_from([*ODD, "s3://KEY:hidden@b/k", "small", "auto", "="]), st.text(max_size=12))
FLAGS = st.sampled_from([flag_of(name) for name in NAMES])
WORDS = st.one_of(FLAGS, TEXTS, st.integers().map(str))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=2)),
    max_leaves=4,
)
FILES = st.one_of(
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3).map(lambda held: yaml.safe_dump(held).encode()),
    st.binary(max_size=80),
    st.text(max_size=80).map(str.encode),
)


@given(
    job=st.sampled_from(sorted(JOBS)),
    argv=st.one_of(st.lists(WORDS, max_size=6), st.tuples(st.just("--out"), st.just("x"), FLAGS, WORDS).map(list)),
    data=st.one_of(st.none(), FILES),
)
@settings(derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], job: str, argv: list[str], data: bytes | None
) -> None:
    if data is not None:
        (tmp_path / "run.yaml").write_bytes(data)
        argv = ["--out", "x", "--config", str(tmp_path / "run.yaml")]
    began: list[JobConfig] = []
    try:
        status = main(JOBS[job], job, "About.", began.append, argv)
    except SystemExit:
        assert "Usage" in capsys.readouterr().out, argv
        return
    told = capsys.readouterr().err
    assert status == (0 if began else 2), (argv, told)
    if began:
        assert isinstance(began[0], JOBS[job])
        assert told == ""
    else:
        (line,) = told.splitlines()
        assert line.startswith("error: "), line
        assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cs")], ascii(line)
        assert "hidden" not in line.replace("'hidden'", ""), "a value that was cut out for no reason"


@pytest.mark.parametrize("value", ["9" * 30, "inf"])
def test_no_number_is_larger_than_any_table_holds(capsys: pytest.CaptureFixture[str], value: str) -> None:
    for job, config in ((name, job.options) for name, job in find_jobs().items()):
        for name, field in config.model_fields.items():
            if type(field.default) in (int, float):
                assert main(config, job, "About.", lambda config: None, [flag_of(name), value]) == 2, (job, name)
                assert len(capsys.readouterr().err.splitlines()) == 1
