"""Runs a benchmark: its options come from a function's signature, and its result becomes one line of JSON.

A benchmark is a module with a function `measure`. Its arguments are the options; the section `Args:` of its docstring
is their help. It returns what is printed, and whether all counts, values and targets are as they should be.
"""

import argparse
import importlib
import inspect
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import torch

from ops.errors import InputError

Result = tuple[Any, bool]


def run(name: str, argv: list[str]) -> int:
    """Run a benchmark, print its result, and return the exit status: 1 if something is wrong, 2 for wrong input.

    To a result that is a mapping, the name, the processor and the load are added.
    """
    module = importlib.import_module(f"bench.{name}")
    options = vars(parser_of(name, module.measure).parse_args(argv))
    options.pop("json", None)
    try:
        result, good = module.measure(**options)
    except InputError as error:
        print(f"error: bench {name}: {error}", file=sys.stderr)
        return 2
    if isinstance(result, dict):
        result = {"bench": name, **result, "processor": processor(), "load": load()}
    print(json.dumps(result))
    return 0 if good else 1


def parser_of(name: str, measure: Callable[..., Result]) -> argparse.ArgumentParser:
    """Return the parser of a benchmark's options; options that are not given are not in what it returns.

    `Annotated[int, 240]` is an option whose value may be left out, and is 240 then. A list takes several values.
    """
    parser = argparse.ArgumentParser(
        prog=f"bench {name}", description=sys.modules[measure.__module__].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter, argument_default=argparse.SUPPRESS,
    )  # fmt: skip
    texts = dict(re.findall(r"^ +(\w+): (.+(?:\n {12,}.+)*)", measure.__doc__ or "", re.MULTILINE))
    for option in inspect.signature(measure).parameters.values():
        text = " ".join(texts.get(option.name, "").split())
        given: dict[str, Any] = {"help": f"{text} (default: {option.default})".strip().replace("%", "%%")}
        if option.default is option.empty:
            given = {"help": text, "required": True}
        parser.add_argument(f"--{option.name.replace('_', '-')}", **given, **_values(option.annotation))
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks, which print JSON anyway")
    return parser


def _values(kind: Any) -> dict[str, Any]:
    """Return how a parser reads the values of an option of this type."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is bool:
        return {"action": "store_true"}
    if origin is Annotated:
        return {"type": inner[0], "nargs": "?", "const": inner[1]}
    if origin is Literal:
        return {"choices": inner}
    if origin in (list, tuple):
        return {"action": "extend", "nargs": "+"} | _values(inner[0])
    return _values(inner[0]) if origin is UnionType else {"type": kind}


@contextmanager
def temporary_folder(inside: str | None = None) -> Iterator[Path]:
    """Create a folder for a run, with the cache of this process and its children in it, and remove it in the end."""
    with tempfile.TemporaryDirectory(prefix="atlas-bench-", dir=inside) as folder:
        os.environ["ATLAS_CACHE"] = f"{folder}/cache"
        yield Path(folder)


def processor() -> str:
    """Return the name of this machine's processor and the vector instructions that torch uses."""
    names = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return ", ".join([*names[:1], torch.backends.cpu.get_cpu_capability()])


def load() -> float:
    """Return the machine's load average over the last minute; measurements under high load are not reliable."""
    return round(os.getloadavg()[0], 1)
