"""From flags, a YAML file and a preset to one frozen, checked config for each job."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import cyclopts
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ops.errors import InputError, disk_full, one_line

PAPER: dict[str, Any] = {
    "k": 10_000,
    "baseline_size": 1_000_000,
    "activation_sample": 10_000,
    "shard_size": 100_000,
    "subtree_root": "collapse",
    "pack": 128,
}
SMALL: dict[str, Any] = {"k": 100, "baseline_size": None, "activation_sample": 1_000, "shard_size": 2_000}
PRESETS: dict[str, dict[str, Any]] = {"small": SMALL, "paper": PAPER}


class JobConfig(BaseModel):
    """Options of every job."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    out: str = Field("", description="run directory: a path or a URI such as s3://bucket/run")
    preset: Literal["small", "paper"] | None = Field(None, description="sizes to start from; never caps the corpus")
    config: str | None = Field(None, description="YAML file whose keys are these options, with _ for -")


class StageConfig(JobConfig):
    """Options of every stage that does work on Ray."""

    redo: bool = Field(
        False, description="drop this stage's results and those of the stages after it, and do them again"
    )
    seed: int = Field(0, ge=0, description="seed of every random draw")
    workers: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="worker processes; auto: all cores, or all GPUs"
    )
    keep_partials: bool = Field(False, description="keep a finished stage's partial files")


Config = TypeVar("Config", bound=BaseModel)


def parse(config: type[Config], job: str, about: str, argv: list[str] | None = None) -> Config:
    """Read a job's command line, its YAML file and its preset; flags win over the file, the file over the preset.

    Raises:
        InputError: an unknown flag or key, or a value that does not fit, named.
    """
    app = cyclopts.App(
        name=f"python -m jobs.{job}",
        help=about,
        version_flags=[],
        result_action="return_value",
        help_format="plaintext",
    )

    @app.default
    def read(*, options: Annotated[Any, cyclopts.Parameter(name="*", negative=())] = None) -> Any:
        return [options]

    read.__annotations__["options"] = Annotated[config, cyclopts.Parameter(name="*", negative=())]
    try:
        given = app(sys.argv[1:] if argv is None else argv, exit_on_error=False, print_error=False)
    except cyclopts.ValidationError as error:
        cause = error.__cause__ or error.exception_message
        raise InputError(_explain(cause, job) if isinstance(cause, ValidationError) else one_line(error)) from error
    except cyclopts.CycloptsError as error:
        raise InputError(f"{one_line(error)} (python -m jobs.{job} --help lists the flags)") from error
    if given is None:
        raise SystemExit(0)  # the help was asked for and printed
    given = given[0] or config.model_validate({})
    flags = {name: getattr(given, name) for name in given.model_fields_set}
    return resolve(config, job, flags)


def resolve(config: type[Config], job: str, flags: dict[str, Any]) -> Config:
    """Put preset, YAML file and flags together, each winning over the one before.

    Raises:
        InputError: an unknown key, a value that does not fit, or a file that cannot be read.
    """
    file = read_yaml(flags["config"], config, job) if flags.get("config") else {}
    preset = flags.get("preset", file.get("preset"))
    sizes = {k: v for k, v in PRESETS.get(str(preset), {}).items() if k in config.model_fields}
    try:
        return config.model_validate({**sizes, **file, **flags})
    except ValidationError as error:
        raise InputError(_explain(error, job)) from error


def part_of(config: BaseModel, part: type[Config], **changes: Any) -> Config:
    """Return the options of one job out of those of a job that runs it, some of them changed."""
    return part(**{name: getattr(config, name) for name in part.model_fields} | changes)


def read_yaml(path: str, config: type[BaseModel], job: str) -> dict[str, Any]:
    """Read a YAML file of options.

    Raises:
        InputError: it is missing, is not a mapping, or holds an unknown key.
    """
    try:
        value = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--config {path}: cannot be read ({one_line(error)})") from error
    except yaml.YAMLError as error:
        raise InputError(f"--config {path}: is not YAML ({one_line(error)})") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"--config {path}: holds a {type(value).__name__}, expected keys and values")
    value = {str(key).replace("-", "_"): held for key, held in value.items()}
    for key in value:
        if key not in config.model_fields:
            raise InputError(
                f"--config {path}: unknown key {key!r}; {job} knows {', '.join(sorted(config.model_fields))}"
            )
    try:
        return {k: getattr(config.model_validate({k: v}), k) for k, v in value.items()}
    except ValidationError as error:
        raise InputError(f"--config {path}: {_explain(error, job, flags=False)}") from error


def main(
    config: type[Config], job: str, about: str, run: Callable[[Config], None], argv: list[str] | None = None
) -> int:
    """Run a job from its command line and return the exit status: 0 done, 2 wrong input, 1 anything else."""
    try:
        run(parse(config, job, about, argv))
    except InputError as error:
        sys.stdout.flush()
        print(f"error: {one_line(error, 1000)}", file=sys.stderr)
        return 2
    except OSError as error:
        full = disk_full(error)
        if full is None:
            raise
        print(f"error: {full}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on where it was", file=sys.stderr)
        return 130
    return 0


def _explain(error: ValidationError, job: str, flags: bool = True) -> str:
    found = error.errors()[0]
    name = str(found["loc"][0]) if found["loc"] else job
    shown = f"--{name.replace('_', '-')}" if flags else name
    if found["type"] == "extra_forbidden":
        return f"{shown}: {job} has no such option"
    message = found["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{shown} {found['input']!r}: {message}"
