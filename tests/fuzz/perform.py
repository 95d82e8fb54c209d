"""Run one command in a fork of this process, which has imported what jobs import."""

import faulthandler
import os
import resource
import shlex
import signal
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from jobs.stage.main import Job
from tests.conftest import ROOT

LIMIT_S = 60  # seconds of a processor that a command may take; a busy machine may need five times as long
MEMORY = 8 << 30  # bytes of a command: a fault must not take the machine with it


@dataclass(frozen=True)
class Command:
    """One command: what it may change (`writes`, the run first), and whether a new Python runs it (`fresh`)."""

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

    def with_words(self, *words: str, without: str = "") -> "Command":
        """Return the command with more words, and without one that takes no value."""
        return replace(self, argv=(*(word for word in self.argv if word != without), *words))


@dataclass(frozen=True)
class Outcome:
    """What became of a command: its exit status, negative if a signal ended it, what it printed, processor seconds."""

    status: int
    stdout: str
    stderr: str
    seconds: float = 0.0


def perform(job: Job[Any], command: Command) -> Outcome:
    """Run a command and return what became of it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries, which hold no locks
        child = os.fork()
        if not child:
            _become(job, command, out, err)
        _, status, usage = os.wait4(child, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "backslashreplace"))
    return Outcome(os.waitstatus_to_exitcode(status), *texts, usage.ru_utime + usage.ru_stime)


def _become(job: Job[Any], command: Command, out: BinaryIO, err: BinaryIO) -> NoReturn:
    """Turn this process into one that runs the command and ends."""
    status = 1
    try:
        for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), out.fileno(), err.fileno())):
            os.dup2(file, number)
        os.environ.update(command.env)
        os.chdir(command.cwd)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        if command.fresh:
            signal.alarm(5 * LIMIT_S)
            words = [sys.executable, "-m", f"jobs.{command.job}", *command.argv]
            os.execve(sys.executable, [os.fsencode(word) for word in words], {**os.environ, "PYTHONPATH": str(ROOT)})
        sys.stdout = os.fdopen(1, "w", 1, "utf-8")
        sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace")
        faulthandler.dump_traceback_later(5 * LIMIT_S, exit=True, file=sys.stderr)
        sys.argv = [f"jobs/{command.job}/__main__.py", *command.argv]
        tempfile.tempdir = None
        warnings.simplefilter("default", append=True)  # also those that this process has shown before
        status = job.main(list(command.argv))
    except SystemExit as asked:
        status = asked.code if isinstance(asked.code, int) else int(asked.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
