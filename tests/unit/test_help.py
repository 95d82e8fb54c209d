"""The help of every job: one plain line for each option, and each default once."""

import re
from typing import Any

import pytest

from jobs.__main__ import main as list_jobs
from jobs.options.command_line import parse
from jobs.stage.main import Job
from tests.all_jobs import find_jobs

JOBS = find_jobs()
LONGEST = 100


def _shown(job: Job[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines of a job's help on a terminal so wide that an option takes one line."""
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit):
        parse(job.options, job.name, "About.", ["--help"])
    return capsys.readouterr().out.splitlines()


def test_an_option_is_described_in_one_short_line() -> None:
    said = {
        f"{job} {name}": str(f.description) for job, own in JOBS.items() for name, f in own.options.model_fields.items()
    }
    plain = re.compile(rf"(?=[A-Z0-9]).{{9,{LONGEST - 1}}}[^.\n]")
    assert {option: text for option, text in said.items() if not plain.fullmatch(text)} == {}


def test_a_default_is_shown_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, job in JOBS.items():
        options = [line for line in _shown(job, capsys, monkeypatch) if line.startswith("│ --")]
        assert len(options) == len(job.options.model_fields) + 1, name
        assert [line for line in options if line.count("default") > 1] == [], name


def test_the_help_lists_what_a_preset_sets_of_the_options_of_a_job(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = _shown(JOBS["annotate"], capsys, monkeypatch)
    assert [line for line in shown if line.startswith("--preset")] == [
        "--preset small: baseline-size all",
        "--preset paper: baseline-size 1,000,000",
    ]
    assert not any(line.startswith("--preset") for line in _shown(JOBS["browse"], capsys, monkeypatch))


def test_the_list_of_jobs_has_one_short_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert list_jobs([]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert len(lines) == len(JOBS)
    for line in lines:
        _, about = line.split(maxsplit=1)
        assert len(about) <= LONGEST, line
        assert about.endswith("."), line
