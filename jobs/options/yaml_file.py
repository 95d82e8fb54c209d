"""Reads a YAML file of options, in which every key is an option of the job, given once."""

import re
from typing import Any

import yaml
from pydantic import BaseModel

from ops.errors import InputError, one_line
from ops.storage.small_files import read_small_file


class TextLoader(yaml.SafeLoader):
    """A loader for which every value is text except null, so 010, 1:30, yes and 2026-01-02 mean what they say."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  # PyYAML declares it for instances


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
    return {_name(key, config): held for key, held in value.items()}


def _name(key: object, config: type[BaseModel]) -> str:
    name = str(key).replace("-", "_")
    # An option whose name is a keyword of Python ends with _.
    return f"{name}_" if f"{name}_" in config.model_fields else name
