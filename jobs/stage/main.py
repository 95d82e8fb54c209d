"""A job: its command line opens a run and does the work, and errors become an exit status."""

import errno
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Generic

from jobs.engine.item import EngineError
from jobs.options.command_line import parse
from jobs.options.configs import Config, CorpusConfig, StageConfig
from ops.errors import (
    STOPPED,
    InputError,
    LostRunError,
    TerminatedError,
    close_for_good,
    disk_full,
    error_line,
    refused,
)

# Errors for links that form a circle, and for a name that is too long.
_NO_PATH = (errno.ELOOP, errno.ENAMETOOLONG)


@dataclass(frozen=True)
class Job(Generic[Config]):
    """A job, which `atlas NAME` runs.

    Attributes:
        name: the name of the job and of its folder.
        entry: the function that does the work, `module:function`; it is imported when the job runs, so that `--help`
            answers at once. Given options of a stage, it is called with the options and the run, else with the options.
        about: the docstring of its module; the help begins with its first line.
    """

    name: str
    options: type[Config]
    entry: str
    about: str | None

    def main(self, argv: list[str] | None = None) -> int:
        """Run the job from its command line and return the exit status."""
        return main(self.options, self.name, str(self.about).splitlines()[0], self.run, argv)

    def run(self, options: Config) -> None:
        """Do the work; a stage's run is opened first, and released at the end."""
        do = resolve_name(self.entry)
        if not isinstance(options, StageConfig):
            do(options)
            return
        from jobs.stage.dry_run import open_run

        with open_run(options) as run:
            if isinstance(options, CorpusConfig) and "model" not in options.model_fields_set:
                named = run.model().items()
                options = options.model_copy(update={k: v for k, v in named if k not in options.model_fields_set})
            do(options, run)


def main(
    config: type[Config], job: str, about: str, run: Callable[[Config], None], argv: list[str] | None = None
) -> int:
    """Run a job from its command line and return the exit status.

    It is 0 for done, 2 for wrong input, 130 after Ctrl-C, 143 after SIGTERM, and 1 otherwise.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may be unable to show some letters
    try:
        options = parse(config, job, about, argv)
        _run(run, options)
        sys.stdout.flush()
    except BrokenPipeError:
        close_for_good(sys.stdout)
    except InputError as error:
        sys.stdout.flush()
        print(f"error: {error_line(error)}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.errno in _NO_PATH:
            where = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            print(f"error: {error_line(f'{where}; check the path')}", file=sys.stderr)
            return 2
        message = disk_full(error) or refused(error)
        if not message:
            raise
        print(f"error: {error_line(message)}", file=sys.stderr)
        return 1
    except (EngineError, LostRunError) as error:
        sys.stdout.flush()
        print(f"error: {error_line(error)}", file=sys.stderr, flush=True)
        # Exit at once: Ray's shutdown would wait for processes that are gone, or print after the message.
        os._exit(1)
    except KeyboardInterrupt as error:
        print(f"\n{STOPPED}", file=sys.stderr)
        return 143 if isinstance(error, TerminatedError) else 130
    return 0


def _run(run: Callable[[Config], None], config: Config) -> None:
    """Run a job; if Arrow cannot read a table, raise the error that names the damaged one."""
    try:
        run(config)
    except Exception as error:
        # If Arrow cannot read a table, its error has no errno and does not name the table. A file may also be missing.
        of_arrow = type(error).__module__.startswith("pyarrow")
        unread = isinstance(error, OSError) and error.errno in (None, errno.ENOENT)
        if isinstance(error, InputError) or not (of_arrow or unread):
            raise
        from jobs.run_folder.run import damaged_table

        for out in filter(
            None, (getattr(config, name, None) for name in ("out", "against", "against_run", "with_", "random_run"))
        ):
            if damage := damaged_table(str(out)):
                raise damage from error
        raise
