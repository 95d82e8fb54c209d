import importlib.util
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from ops import compiled as module
from ops.compiled import compiled


@compiled
def total(numbers: np.ndarray) -> float:
    result = 0.0
    for number in numbers:
        result += number
    return result


def test_a_compiled_function_computes_without_the_lock():
    assert total(np.array([1.5, 2.0])) == 3.5
    assert total.targetoptions["nogil"]
    assert total.signatures


def test_without_a_folder_for_compiled_code_functions_are_compiled_without_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Files stand where numba would make its folders: next to the source, in the user's folder, and the named one.
    for name in ("__pycache__", "home", "named"):
        (tmp_path / name).write_text("")
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "named"))
    module._say_uncached.cache_clear()
    source = tmp_path / "functions.py"
    source.write_text(
        "from ops.compiled import compiled\n"
        "@compiled\ndef double(n):\n    return 2 * n\n"
        "@compiled\ndef quadruple(n):\n    return double(double(n))\n"
    )
    spec = importlib.util.spec_from_file_location("functions", source)
    assert spec is not None
    assert spec.loader is not None
    functions: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(functions)
    assert functions.quadruple(3) == 12
    [note] = capsys.readouterr().err.splitlines()
    assert "NUMBA_CACHE_DIR" in note
