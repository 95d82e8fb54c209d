import importlib.util
import sys
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


def load(source: Path) -> Any:
    spec = importlib.util.spec_from_file_location(source.stem, source)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


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
    (tmp_path / "functions.py").write_text(
        "from ops.compiled import compiled\n"
        "@compiled\ndef double(n):\n    return 2 * n\n"
        "@compiled\ndef quadruple(n):\n    return double(double(n))\n"
    )
    assert load(tmp_path / "functions.py").quadruple(3) == 12
    [note] = capsys.readouterr().err.splitlines()
    assert "NUMBA_CACHE_DIR" in note


def test_what_is_cached_is_compiled_again_when_a_function_of_another_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "caller.py").write_text(
        "from called import add\nfrom ops.compiled import compiled\n@compiled\ndef twice(n):\n    return add(add(n))\n"
    )
    found = []
    for amount in (1, 1, 20):
        (tmp_path / "called.py").write_text(
            f"from ops.compiled import compiled\n@compiled\ndef add(n):\n    return n + {amount}\n"
        )
        monkeypatch.delitem(sys.modules, "called", raising=False)
        importlib.invalidate_caches()
        module.digest.cache_clear()
        twice = load(tmp_path / "caller.py").twice
        found.append((twice(3), sum(twice.stats.cache_hits.values())))
    assert found == [(5, 0), (5, 1), (43, 0)]
