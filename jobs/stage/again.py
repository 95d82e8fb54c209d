"""The command that repeats a stage of a run with the options that run.json has of it."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from jobs.stage.options import INGEST_ONLY, CorpusConfig, flag_of
from ops.errors import InputError, shell_word

# The command has them already, or it is not to have them.
_NOT_REPEATED = ("out", "config", "preset", "redo", "dry_run")


def command(out: str, stage: str, options: Mapping[str, Any], redo: bool = False, **changes: Any) -> str:
    """Return the command that does a stage with these options, quoted for a shell; defaults are not named.

    Args:
        out: the run's directory.
        stage: the stage; of one that is a part of a job the command does that part alone.
        options: as run.json records them.
        redo: whether its results are to be replaced.
        changes: options that are to have another value.
    """
    job, _, part = stage.partition("/")
    # A job's options are known by its name, as its own command line knows them.
    config = import_module(f"jobs.{job}.job").JOB.options
    fields = config.model_fields
    left_out = {*_NOT_REPEATED, *(INGEST_ONLY if job != "ingest" and issubclass(config, CorpusConfig) else ())}
    parts = {name: part for name in ("part", "parts") if part and name in fields} if options else {}
    values = {**options, **parts, **changes}
    words = [f"python -m jobs.{job}", _flag("out", out), *(["--redo"] if redo and "redo" in fields else [])]
    for name in (name for name in fields if name in values and name not in left_out):
        given, default = _listed(values[name]), _listed(fields[name].default)
        words += [_flag(name, value) for value in given if value is not None and given != default]
    return " ".join(words)


def made_anew(out: str, stage: str, table: str, wrong: str, options: Mapping[str, Any]) -> InputError:
    """Return the error that says what is wrong with a table, with the command that rebuilds it."""
    return InputError(f"--out {out}: {wrong}; to rebuild {table}/, run", command(out, stage, options, redo=True))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _flag(name: str, value: Any) -> str:
    flag, text = flag_of(name), str(value)
    return flag if value is True else f"{flag}{'=' if text.startswith('-') else ' '}{shell_word(text)}"
