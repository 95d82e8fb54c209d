"""Reads a YAML file of options, in which every key is an option of the job, given once, with a value of its type."""

import re
from typing import Any, get_args

import yaml
from pydantic import BaseModel

from jobs.options.configs import values_of
from ops.errors import InputError, one_line
from ops.storage.small_files import read_small_file

# Values that are not text, according to the core schema of YAML 1.2 (section 10.3.2), with their possible first
# characters.
_CORE_SCHEMA = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
}


class CoreLoader(yaml.SafeLoader):
    """A loader for YAML 1.2, in which 010 is ten, and 1:30, yes, off and 2026-01-02 are text."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  # PyYAML declares it for instances

    def read_int(self, node: yaml.ScalarNode) -> int:
        """Return the integer of a node; a leading zero does not make it octal."""
        text = str(self.construct_scalar(node))
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


for _kind, (_pattern, _first) in _CORE_SCHEMA.items():
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(rf"(?:{_pattern})\Z"), _first)
CoreLoader.add_constructor("tag:yaml.org,2002:int", CoreLoader.read_int)


def read_yaml(path: str, config: type[BaseModel], job: str) -> dict[str, Any]:
    """Return the options in a file, with the values as they are given there.

    Args:
        path: the file.
        config: the job's options.
        job: the name of the job, for the message.

    Raises:
        InputError: the file cannot be read, is not a mapping, holds an unknown or repeated key, or names another file.
            It is also raised if the value of an option that is not boolean is `true` or `false`, which would count as 1
            and 0.
    """
    text = read_small_file("--config", path)
    try:
        node = yaml.compose(text, Loader=CoreLoader)
        value = yaml.load(text, Loader=CoreLoader)
    except (ValueError, RecursionError) as error:
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
    options = {_name(key, config): held for key, held in value.items()}
    for name, held in options.items():
        if any(isinstance(one, bool) for one in values_of(held)) and not _takes_bool(
            config.model_fields[name].annotation
        ):
            raise InputError(
                f"--config {path}: {name} is {held!r}, true or false in YAML; give a value, in quotes if a word"
            )
    return options


def _name(key: object, config: type[BaseModel]) -> str:
    name = str(key).replace("-", "_")
    # An option whose name is a keyword of Python ends with _.
    return f"{name}_" if f"{name}_" in config.model_fields else name


def _takes_bool(annotation: Any) -> bool:
    return annotation is bool or any(map(_takes_bool, get_args(annotation)))
