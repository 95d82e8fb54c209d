"""The command `atlas` works in any folder, even in one with packages named `jobs` and `ops`."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest
from setuptools import build_meta

from tests.all_jobs import find_jobs
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a wheel of this checkout installs; the scripts are in `bin`."""
    folder = tmp_path_factory.mktemp("installed")
    for path in ("jobs", "ops", "LICENSE", "pyproject.toml"):
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, folder / "checkout" / path, ignore=shutil.ignore_patterns("*.nb[ci]"))
        else:
            shutil.copy(ROOT / path, folder / "checkout")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder / "checkout")
        name = build_meta.build_wheel(str(folder))
    with zipfile.ZipFile(folder / name) as wheel:
        wheel.extractall(folder / "packages")
    scripts = ConfigParser()
    [entry_points] = (folder / "packages").glob("*.dist-info/entry_points.txt")
    scripts.read(entry_points)
    (folder / "bin").mkdir()
    for name, entry in scripts["console_scripts"].items():
        module, function = entry.split(":")
        path = folder / "bin" / name
        path.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
        path.chmod(0o755)
    return folder


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which importing `jobs` or `ops` fails."""
    for name in ("jobs", "ops"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('the packages of a user')\n")
    (tmp_path / "texts").mkdir()
    for number in range(4):
        lines = [f"The dog {i} saw a cat, and the cat ran off the road {number} times." for i in range(12)]
        (tmp_path / "texts" / f"{number}.txt").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def atlas(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # Nothing is compiled: a new copy would take longer for that than these few sentences take without.
    env = {**os.environ, "PYTHONPATH": str(installed / "packages"), "NUMBA_DISABLE_JIT": "1"}
    command = [installed / "bin" / "atlas", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)


def test_a_wheel_holds_every_file_of_the_packages(installed: Path) -> None:
    """Among them are templates, a pipeline's weights, and the modules of folders without an `__init__.py`."""

    def files(root: Path) -> set[str]:
        paths = (path.relative_to(root) for name in ("jobs", "ops") for path in (root / name).rglob("*"))
        return {str(path) for path in paths if (root / path).is_file() and "__pycache__" not in path.parts}

    assert files(installed / "packages") == files(ROOT)
    installed_at_top = {path.name for path in (installed / "packages").iterdir() if path.suffix != ".dist-info"}
    assert installed_at_top == {"jobs", "ops"}


def test_help_is_shown_in_any_folder(installed: Path, hostile: Path) -> None:
    shown = atlas(installed, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert {line.split()[0] for line in shown.stdout.splitlines() if line.startswith("  ")} == {*find_jobs()}
    for name in ("run", "mixing"):
        shown = atlas(installed, name, "--help")
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "--out" in shown.stdout


@pytest.mark.slow
def test_workers_take_our_packages(installed: Path, hostile: Path) -> None:
    options = ("--corpus", "texts/*.txt", "--model", "sample", "--k", "5", "--shard-size", "12", "--workers", "2")
    done = atlas(installed, "topk", "--out", "run", *options)
    assert done.returncode == 0, done.stderr
    assert "topk: 4 of 4 shards" in done.stderr
    assert json.loads((hostile / "run" / "run.json").read_text())["stages"]["topk"]["complete"]
