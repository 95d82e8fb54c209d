"""The tutorial does what it says: its blocks run in order and print what it shows."""

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
# One worker needs no Ray and gives the same rows. The page shows nothing of the held-out scores, which take long.
QUICKER = {"run": ("--workers", "1", "--no-scores"), "audit": ("--workers", "1")}


def shows(expected: str, printed: str) -> bool:
    """Return whether the lines of `expected` are those that were printed, where `...` is any number of lines."""
    lines = [".*" if line == "..." else re.escape(line.rstrip()) for line in expected.splitlines()]
    given = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    return re.fullmatch("\n".join(lines), given, re.DOTALL) is not None


@pytest.mark.parametrize(
    ("expected", "printed", "is_shown"),
    [
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a 0.5\n", "a 0.5  \n", True),
        ("a 0.5\n", "a 0.6\n", False),
        ("a 0.5\n", "a 005\n", False),
        ("a\n...\nc\n", "a\nb\n", False),
        ("a\n", "a\nb\n", False),
    ],
)
def test_lines_are_compared(expected: str, printed: str, is_shown: bool) -> None:
    assert shows(expected, printed) == is_shown


@pytest.mark.slow
def test_the_tutorial_runs(
    call: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")  # the width where output is no terminal, which the page shows
    (first, script), *blocks = BLOCKS
    assert first == "python"
    (tmp_path / "make_reviews.py").write_text(script, encoding="utf-8")
    printed, outputs, names = "", 0, dict[str, Any]()
    for language, block in blocks:
        if language == "text":
            outputs += 1
            assert shows(block, printed), f"{block}\n--- was printed:\n{printed}"
        elif language == "python":
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(block, names)
            printed = said.getvalue()
        else:
            printed = "".join(_run(line, call) for line in block.replace("\\\n", "").splitlines())
    assert outputs >= 4


def _run(line: str, call: Callable[..., subprocess.CompletedProcess[str]]) -> str:
    """Do what a line of shell says, and return what it prints."""
    program, *words = line.partition("  #")[0].split()
    if program == "python":
        return subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True).stdout
    assert program == "atlas"
    done = call(*words, *QUICKER.get(words[0], ()))
    assert done.returncode == 0, done.stderr
    return done.stdout
