"""A loader for YAML 1.2; PyYAML itself reads YAML 1.1."""

import re

import yaml

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
