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
assert warm_up.main() == 0
for module in pkgutil.walk_packages(ops.__path__, "ops."):
    held = vars(importlib.import_module(module.name)).items()
    kernels = {name: one for name, one in held if isinstance(one, numba.core.dispatcher.Dispatcher)}
    inner = {name for one in kernels.values() for name in one.py_func.__code__.co_names}
    print(*(f"{module.name}.{name}" for name, one in kernels.items() if not one.signatures and name not in inner))
"""


@pytest.mark.slow
def test_the_kernels_are_compiled_and_nothing_is_left(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KERNELS],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # No run asks for the gains of many literals at once: that is their definition.
    assert done.stdout.split() == ["ops.explain.card_choice.gains", "ops.explain.screening.gains"]
    assert done.stderr.startswith("compiling for the first use of the jobs")
    assert "Traceback" not in done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
