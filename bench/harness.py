"""Runs a benchmark: its options come from a function's signature, and its result becomes one line of JSON.

A benchmark is a module with a function `measure`. Its arguments are the options; the section `Args:` of its docstring
is their help. It returns what is printed. Every value of this that is a bool is a check: the exit status is 1 if any is
false.
"""

import importlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cyclopts
import torch

from ops.errors import InputError, one_line

Result = dict[str, Any]


def run(name: str, argv: list[str]) -> int:
    """Run a benchmark, print its result with the name, the processor and the load, and return the exit status.

    The status is 1 if a check is false, and 2 for wrong input.
    """
    module = importlib.import_module(f"bench.{name}")
    app = cyclopts.App(
        name=f"bench {name}", help=module.__doc__, help_format="plaintext", version_flags=(),
        default_parameter=cyclopts.Parameter(negative=(), consume_multiple=True), result_action="return_value",
    )  # fmt: skip
    app.default(module.measure)
    try:
        result: Result | None = app(argv, exit_on_error=False, print_error=False)
    except (InputError, cyclopts.CycloptsError) as error:
        print(f"error: bench {name}: {one_line(error)}", file=sys.stderr)
        return 2
    if result is None:  # only the help was printed
        return 0
    print(json.dumps({"bench": name, **result, "processor": processor(), "load": load()}))
    return int(any(value is False for value in result.values()))


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a folder for a run, with the cache of this process and its children in it, and remove it in the end."""
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        os.environ["ATLAS_CACHE"] = f"{folder}/cache"
        yield Path(folder)


def processor() -> str:
    """Return the name of this machine's processor and the vector instructions that torch uses."""
    names = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return ", ".join([*names[:1], torch.backends.cpu.get_cpu_capability()])


def load() -> float:
    """Return the machine's load average over the last minute; measurements under high load are not reliable."""
    return round(os.getloadavg()[0], 1)
