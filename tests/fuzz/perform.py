"""Run one command in this process as a shell would: its own environment, folder and streams, and what became of it."""

import contextlib
import io
import os
import shlex
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from jobs.stage.command_line import Job
from tests.conftest import ROOT


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        job: the job's name.
        argv: its command line.
        cwd: the folder in which it is given.
        env: variables that are set for it, beside the usual ones.
        writes: the folders and files that it may change, absolute.
        fresh: it is run by a Python of its own, which reads `env` at its start.
    """

    job: str
    argv: tuple[str, ...]
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)
    writes: tuple[Path, ...] = ()
    fresh: bool = False

    def __str__(self) -> str:
        env = [f"{name}={shlex.quote(value)}" for name, value in self.env.items()]
        words = [*env, "python", "-m", f"jobs.{self.job}", *map(shlex.quote, self.argv)]
        return " ".join(words).encode("utf-8", "backslashreplace").decode()

    @property
    def out(self) -> Path | None:
        """The run's folder on this machine, if there is one."""
        named = self.option("--out")
        return self.cwd / named if named and "://" not in named and "\0" not in named else None

    def option(self, flag: str) -> str | None:
        """Return the value that the command line gives to a flag."""
        return next((after for word, after in zip(self.argv, self.argv[1:], strict=False) if word == flag), None)

    def without(self, *flags: str) -> "Command":
        """Return the command without some flags that take no value."""
        argv = tuple(word for word in self.argv if word not in flags)
        return Command(self.job, argv, self.cwd, self.env, self.writes, self.fresh)


@dataclass(frozen=True)
class Outcome:
    """What became of a command: its exit status, what it printed, the traceback of what it let through, seconds."""

    status: int
    stdout: str
    stderr: str
    trace: str = ""
    seconds: float = 0.0


def perform(job: Job[Any], command: Command, limit_s: float = 60.0) -> Outcome:
    """Run a command and return what became of it."""
    began = time.monotonic()
    if command.fresh:
        return _fresh(command, limit_s, began)
    status, trace = 0, ""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as told:
        encoding = "ascii" if command.env.get("LC_ALL") == "C" else "utf-8"
        with _surroundings(command), _streams(said.fileno(), told.fileno(), encoding), warnings.catch_warnings():
            try:
                status = job.main(list(command.argv))
            except SystemExit as asked:
                status = asked.code if isinstance(asked.code, int) else int(asked.code is not None)
            except BaseException:
                status, trace = 1, traceback.format_exc()
        texts = []
        for file in (said, told):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "backslashreplace"))
    return Outcome(status, texts[0], texts[1], trace, time.monotonic() - began)


def _fresh(command: Command, limit_s: float, began: float) -> Outcome:
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    env = {**own, "PYTHONPATH": str(ROOT), **command.env}
    argv = [os.fsencode(word) for word in (sys.executable, "-m", f"jobs.{command.job}", *command.argv)]
    with subprocess.Popen(
        argv, cwd=command.cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            said, told = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            said, told = process.communicate()
            told += f"\nTraceback of the driver: ended by it after {limit_s:.0f} s\n".encode()
    stdout, stderr = (text.decode("utf-8", "backslashreplace") for text in (said, told))
    return Outcome(process.returncode, stdout, stderr, seconds=time.monotonic() - began)


@contextlib.contextmanager
def _surroundings(command: Command) -> Iterator[None]:
    """Give this process a command's variables, folder and command line."""
    before, folder, argv = dict(os.environ), os.getcwd(), sys.argv
    try:
        os.environ.update(command.env)
        os.chdir(command.cwd)
        sys.argv = [f"jobs/{command.job}/__main__.py", *command.argv]
        tempfile.tempdir = None
        yield
    finally:
        sys.argv = argv
        os.chdir(folder)
        for name in os.environ.keys() - before.keys():
            if name in command.env:
                del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if name in command.env})
        tempfile.tempdir = None


@contextlib.contextmanager
def _streams(said: int, told: int, encoding: str) -> Iterator[None]:
    """Let files take all that this process prints, also what is printed below Python."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept, before = [os.dup(1), os.dup(2)], (sys.stdout, sys.stderr)
    os.dup2(said, 1)
    os.dup2(told, 2)
    strict: list[TextIO] = [
        io.TextIOWrapper(io.FileIO(number, "wb", closefd=False), encoding, errors, write_through=True)  # type: ignore
        for number, errors in ((1, "surrogateescape" if encoding == "ascii" else "strict"), (2, "backslashreplace"))
    ]
    sys.stdout, sys.stderr = strict
    try:
        yield
    finally:
        for stream in strict:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        sys.stdout, sys.stderr = before
        for number, own in enumerate(kept, 1):
            os.dup2(own, number)
            os.close(own)
