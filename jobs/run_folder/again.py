"""The command that repeats a stage of a run with the options recorded in run.json."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from jobs.options.configs import INGEST_ONLY, CorpusConfig, flag_of, values_of
from ops.errors import InputError, shell_word

# The command includes these options already, or must not include them.
_NOT_REPEATED = ("out", "config", "preset", "redo", "dry_run")


def command(out: str, stage: str, options: Mapping[str, Any], redo: bool = False, **changes: Any) -> str:
    """Return the command that runs a stage with these options, quoted for a shell; default values are omitted.

    The model is named even if it is `sample`, because a run of another model has another default.

    Args:
        stage: the stage; if it is a part of a job, the command runs only that part.
        options: as run.json records them.
    """
    job, _, part = stage.partition("/")
    # The options are looked up by the job's name, as its own command line does.
    config = import_module(f"jobs.{job}.job").JOB.options
    fields = config.model_fields
    left_out = {*_NOT_REPEATED, *(INGEST_ONLY if job != "ingest" and issubclass(config, CorpusConfig) else ())}
    parts = {name: part for name in ("part", "parts") if part and name in fields} if options else {}
    values = {**options, **parts, **changes}
    words = [f"atlas {job}", _flag("out", out), *(["--redo"] if redo and "redo" in fields else [])]
    for name in (name for name in fields if name in values and name not in left_out):
        given, default = values_of(values[name]), values_of(fields[name].default)
        # The default model is the run's.
        words += [
            _flag(name, value)
            for value in given
            if value is not None and (given != default or (name == "model" and value))
        ]
    return " ".join(words)


def made_anew(out: str, stage: str, table: str, wrong: str, options: Mapping[str, Any]) -> InputError:
    """Return an error that says what is wrong with a table and gives the command that rebuilds it."""
    return InputError(f"--out {out}: {wrong}; to rebuild {table}/, run", command(out, stage, options, redo=True))


def _flag(name: str, value: Any) -> str:
    flag, text = flag_of(name), str(value)
    return flag if value is True else f"{flag}{'=' if text.startswith('-') else ' '}{shell_word(text)}"
