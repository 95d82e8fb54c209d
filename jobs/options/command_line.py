"""Command lines: options become one frozen, checked config."""

import re
import sys
from functools import cache
from typing import Annotated, Any

import cyclopts
import yaml
from pydantic import BaseModel, ValidationError, create_model

from jobs.options.configs import PRESETS, Config, flag_of, preset_sizes, values_of
from ops.errors import InputError, one_line, some_of
from ops.storage.option_text import check_text
from ops.storage.small_files import read_small_file

# Plain words for messages that pydantic phrases in terms of Python, by the kind of error, for one option or for all.
_PLAIN: dict[Any, str] = {
    **{
        (option, kind): "should be a whole number or auto"
        for option in ("workers", "shard_size", "token_budget")
        for kind in ("int_parsing", "literal_error")
    },
    ("split", "literal_error"): "should be sentences, none or tokens:N",
    "int_parsing": "should be a whole number",
    "int_from_float": "should be a whole number",
    "int_type": "should be a whole number",
    "float_parsing": "should be a number",
    "tuple_type": "should be a text, or a list of texts",
}


def parse(config: type[Config], job: str, about: str, argv: list[str] | None = None) -> Config:
    """Read a job's command line, YAML file and preset; flags override the file, and the file overrides the preset.

    Raises:
        InputError: a flag or key is unknown, or a value is empty or invalid; the message names it.
        SystemExit: the help was requested and has been printed.
    """
    given_argv = sys.argv[1:] if argv is None else argv
    flag = ""
    for word in given_argv:
        flag, equals, _ = word.partition("=") if word.startswith("--") else (flag, "", "")
        check_text(word[len(flag) + 1 :] if equals else word, flag)
    app = cyclopts.App(
        name=f"atlas {job}",
        help=about,
        version_flags=[],
        result_action="return_value",
        help_format="plaintext",
        help_epilogue="\n".join(_notes(config)) or None,
    )
    app["--help"].group = cyclopts.Group("Help", sort_key=1000)

    @app.default
    def read(*, options: Annotated[Any, cyclopts.Parameter(name="*", negative=())] = None) -> Any:
        return [options]

    grouped = _in_groups(config)
    shown = bool(config.model_fields)
    read.__annotations__["options"] = Annotated[grouped, cyclopts.Parameter(name="*", negative=(), show=shown)]
    try:
        given = app(given_argv, exit_on_error=False, print_error=False)
    except cyclopts.ValidationError as error:
        cause = error.__cause__ or error.exception_message
        raise InputError(_explain(cause, job) if isinstance(cause, ValidationError) else one_line(error)) from error
    except cyclopts.UnusedCliTokensError as error:
        raise InputError(_left_over(list(error.unused_tokens or []), job)) from error
    except cyclopts.CycloptsError as error:
        raise InputError(f"{one_line(error)} (atlas {job} --help lists the flags)") from error
    if given is None:
        raise SystemExit(0)
    given = given[0] or grouped.model_validate({})
    flags = {name: getattr(given, name) for name in given.model_fields_set}
    return resolve(config, job, flags)


def _left_over(words: list[str], job: str) -> str:
    if words[0].startswith("-"):
        return f"{words[0]}: {job} has no such option (atlas {job} --help lists them)"
    hint = "quote a pattern such as 'data/*.txt', or repeat --corpus for each file"
    return f"{some_of(words, 3)}: is not the value of an option; {hint}"


@cache
def _in_groups(config: type[Config]) -> type[Config]:
    """Return a config with the same options, each with the heading under which the help lists it."""
    fields: dict[str, Any] = {}
    for name, field in config.model_fields.items():
        place, title = _heading(config, name)
        says_nothing = field.default is None or field.default is False or field.default in ("", ())
        is_said = says_nothing or "(default: " in str(field.description)
        group = cyclopts.Group(title, sort_key=place)
        listed = cyclopts.Parameter(group=group, show_default=False if is_said else None)
        fields[name] = (Annotated[field.annotation, listed], field)
    return create_model(config.__name__, __base__=config, **fields)


def _heading(config: type[BaseModel], name: str) -> tuple[int, str]:
    if name in getattr(config, "required", ()):
        return (0, "Required")
    # The class that adds an option is the last one in the order of inheritance that has this option.
    owner = [c for c in config.__mro__ if name in getattr(c, "model_fields", ())][-1]
    heading: tuple[int, str] = getattr(owner, "heading", (50, "Options"))
    return heading


def _notes(config: type[BaseModel]) -> list[str]:
    """Return the lines that follow the options in the help: what each preset sets, and the notes of the config."""
    options = config.model_fields
    presets = [(name, preset_sizes(name, options)) for name in PRESETS] if "preset" in options else []
    sizes = [f"--preset {name}: {said}" for name, said in presets if said]
    return sizes + [line for owner in reversed(config.__mro__) for line in vars(owner).get("notes", ())]


def resolve(config: type[Config], job: str, flags: dict[str, Any]) -> Config:
    """Combine preset, YAML file and flags; each overrides the previous one.

    Raises:
        InputError: a key is unknown, a value is invalid, or a file cannot be read.
    """
    file = _from_file(flags["config"], config, job) if flags.get("config") else {}
    preset = flags.get("preset", file.get("preset"))
    sizes = {k: v for k, v in PRESETS.get(str(preset), {}).items() if k in config.model_fields}
    try:
        return config.model_validate({**sizes, **file, **flags})
    except ValidationError as error:
        raise InputError(_explain(error, job)) from error


def _from_file(path: str, config: type[BaseModel], job: str) -> dict[str, Any]:
    held = read_yaml(path, config, job)
    for name, value in held.items():
        for text in values_of(value):
            check_text(str(text), f"--config {path}: {name}")
    try:
        return {name: getattr(config.model_validate({name: value}), name) for name, value in held.items()}
    except ValidationError as error:
        raise InputError(f"--config {path}: {_explain(error, job, flags=False)}") from error


class TextLoader(yaml.BaseLoader):
    """A loader for which every value is text except null, so 010, 1:30, yes and 2026-01-02 mean what they say."""


TextLoader.add_constructor("tag:yaml.org,2002:null", lambda loader, node: None)
TextLoader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])


def read_yaml(path: str, config: type[BaseModel], job: str) -> dict[str, Any]:
    """Return the options in a file, with the values as they are given there.

    Raises:
        InputError: the file cannot be read, is not a mapping, holds an unknown or repeated key, or names another file.
    """
    text = read_small_file("--config", path)
    try:
        node = yaml.compose(text, Loader=TextLoader)
        value = yaml.load(text, Loader=TextLoader)
    except (ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"--config {path}: cannot be read ({one_line(error)})") from error
    except yaml.YAMLError as error:
        raise InputError(f"--config {path}: is not YAML ({one_line(error)})") from error
    if value is None:
        return {}
    if not isinstance(value, dict) or not isinstance(node, yaml.MappingNode):
        raise InputError(f"--config {path}: holds a {type(value).__name__}, expected keys and values")
    names = [_name(key.value, config) for key, _ in node.value]
    known = sorted(name.rstrip("_") for name in config.model_fields)
    for name in names:
        if name not in config.model_fields:
            raise InputError(f"--config {path}: unknown key {name!r}; {job} knows {', '.join(known)}")
        if names.count(name) > 1:
            raise InputError(f"--config {path}: {name} is given twice; leave one of the two out")
        if name == "config":
            raise InputError(f"--config {path}: config in it names another file; put all options into one")
    return {_name(key, config): held for key, held in value.items()}


def _name(key: object, config: type[BaseModel]) -> str:
    name = str(key).replace("-", "_")
    # An option whose name is a keyword of Python ends with _.
    return f"{name}_" if f"{name}_" in config.model_fields else name


def _explain(error: ValidationError, job: str, flags: bool = True) -> str:
    found = error.errors()[0]
    name = str(found["loc"][0]) if found["loc"] else job
    shown = flag_of(name) if flags else name.rstrip("_")
    if found["type"] == "extra_forbidden":
        return f"{shown}: {job} has no such option"
    message = found["msg"].removeprefix("Value error, ").removeprefix("Input ")
    # An option of several types has a place within it for each of them.
    several = len(found["loc"]) > 1 and _PLAIN.get((name, found["type"]))
    message = several or _PLAIN.get(found["type"], message)
    return f"{shown} {found['input']!r}: {message}"
