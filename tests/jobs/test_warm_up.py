"""What is compiled at first use is compiled ahead: all that a run needs, and nothing else is left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

KERNELS = """
import importlib, pkgutil
import numba
import ops
from jobs import warm_up
assert warm_up.JOB.main([]) == 0
kernels = {}
for module in pkgutil.walk_packages(ops.__path__, "ops."):
    for name, one in vars(importlib.import_module(module.name)).items():
        if isinstance(one, numba.core.dispatcher.Dispatcher):
            kernels[f"{module.name}.{name}"] = one
called = [(one.py_func.__globals__, name) for one in kernels.values() for name in one.py_func.__code__.co_names]
inner = {id(names.get(name)) for names, name in called}
print(*(name for name, one in kernels.items() if not one.signatures and id(one) not in inner))
"""


@pytest.mark.slow
def test_the_kernels_are_compiled_and_nothing_is_left(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KERNELS],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # The cards of a random model's data sets have no literals to score, and few runs have dictionaries.
    left_out = {"audited_division._scores", "take_largest", "pool_block", "pool_places"}
    assert [name for name in done.stdout.split() if not name.endswith(tuple(f".{one}" for one in left_out))] == []
    assert done.stderr.startswith("compiling for the first use of the jobs")
    assert "Traceback" not in done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
