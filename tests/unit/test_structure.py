"""Rules for all of the code: which package imports which, and where names are spelled."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.all_jobs import find_jobs
from tests.conftest import ROOT

OPS = sorted((ROOT / "ops").rglob("*.py"))
JOBS = sorted((ROOT / "jobs").rglob("*.py"))
BENCH = sorted((ROOT / "bench").glob("*.py"))

# From the ground up: a room, or a file right in ops/, imports from lower floors and from itself alone.
FLOORS = {
    "ops": (
        {"arrays", "errors", "clock", "compiled", "reloaded_pipeline", "schema"},
        {"bits", "hashing"},
        {"penn", "sampling"},
        {"penn_names", "shards"},
        {"storage", "reducers", "model", "statistics"},
        {"figures", "dictionaries"},
        {"sources", "patterns", "english", "topk", "mixing", "meaning", "finetune"},
        {"corpus", "sentences", "psi", "positions", "outputs"},
        {"forms"},
        {"mine", "estimate", "compare"},
        {"facts"},
        {"literals"},
        {"show", "typical"},
        {"tokens", "explain", "report", "export"},
        {"audit", "contrast", "respond"},
    ),
    "jobs": ({"engine", "options"}, {"run_folder"}, {"stage"}, {"a job"}),
}
MOST_FILES_RIGHT_IN_OPS = 12
JOB_FOLDERS = {p.name for p in (ROOT / "jobs").iterdir() if list(p.glob("*.py"))} - set.union(*FLOORS["jobs"])


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            # `from ops import shards` imports a module, `from ops.shards import draw` a name of one.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            yield from (str(a.value) for a in node.args if isinstance(a, ast.Constant))


@cache
def imports(path: Path) -> list[str]:
    return list(imported(path.read_text(encoding="utf-8")))


def room(package: str, name: str) -> str:
    """Return the room of a module or file inside a package, given the first part of its path."""
    name = name.removesuffix(".py")
    return name if package == "ops" or name in set.union(*FLOORS[package]) else "a job"


def floor(package: str, name: str) -> int:
    return next((i for i, rooms in enumerate(FLOORS[package]) if name in rooms), -1)


def upward(package: str, own: str, names: list[str]) -> Iterator[str]:
    """What a file of a room imports from jobs, if it is of `ops`, or from rooms that are not on a lower floor."""
    for name in names:
        top, _, rest = name.partition(".")
        other = room(package, rest.partition(".")[0])
        is_below = other == own or floor(package, other) < floor(package, own)
        if (top == "jobs" and package == "ops") or (top == package and rest and not is_below):
            yield name


def other_jobs(own: str, names: list[str]) -> Iterator[str]:
    """What a file of `jobs/` imports of other jobs' folders, except from their options and their entry points."""
    entries = {job.entry.partition(":")[0] for job in find_jobs().values()}
    for name in names:
        top, folder, module = (*name.split(".", 2), "", "")[:3]
        offered = module.partition(".")[0] == "job" or name.rpartition(".")[0] in entries
        if top == "jobs" and folder in JOB_FOLDERS - {own} and not offered:
            yield name


def graph() -> dict[str, set[str]]:
    """Return the modules of the repository, each with the modules that it imports, in functions too."""
    named = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in OPS + JOBS + BENCH}
    modules = {name.removesuffix(".__init__"): path for name, path in named.items()}
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = imports(path)
        known = {name if name in modules else name.rpartition(".")[0] for name in names}
        found[module] = known & modules.keys() - {module}
    return found


def spelled(pattern: str, paths: list[Path]) -> list[str]:
    return [str(p.relative_to(ROOT)) for p in paths if re.search(pattern, p.read_text(encoding="utf-8"))]


def test_no_room_imports_upward() -> None:
    for path in OPS + JOBS:
        package, first, *_ = path.relative_to(ROOT).parts
        own = room(package, first)
        assert first == "__init__.py" or floor(package, own) >= 0, f"{path}: no floor names its room"
        assert list(upward(package, own, imports(path))) == [], path


def test_no_module_imports_itself_through_others() -> None:
    TopologicalSorter(graph()).prepare()


def test_every_entry_point_is_a_function() -> None:
    assert all(callable(resolve_name(job.entry)) for job in find_jobs().values())


def test_a_job_takes_of_another_only_its_options_and_its_entry_point() -> None:
    found = {p: list(other_jobs(p.relative_to(ROOT / "jobs").parts[0], imports(p))) for p in JOBS}
    assert {path: names for path, names in found.items() if names} == {}


def test_an_import_that_breaks_the_rules_is_seen() -> None:
    source = "def f():\n    if 1:\n        from ray.data import x\n    importlib.import_module('ray')\n"
    assert list(imported(source)) == ["ray.data.x", "ray"]
    names = ["ops.errors.InputError", "ops.mine.properties", "jobs.run", "ops.patterns.x", "ops.topk.x"]
    assert list(upward("ops", "patterns", names)) == ["ops.mine.properties", "jobs.run", "ops.topk.x"]
    assert [room("jobs", name) for name in ("topk", "stage")] == ["a job", "stage"]
    names = ["jobs.topk.job", "jobs.topk.score", "jobs.topk.steps.topk", "jobs.mixing.steps", "jobs.stage.runner"]
    assert list(other_jobs("mixing", names)) == ["jobs.topk.score"]
    with pytest.raises(CycleError):
        TopologicalSorter({**graph(), "ops.errors": {"ops.topk.neurons"}}).prepare()


def test_compiled_functions_use_names_of_files_that_the_cache_of_compiled_code_knows() -> None:
    """A number that is imported from another file would stay in the cache when it changes there."""
    texts = {path: path.read_text(encoding="utf-8") for path in OPS}
    known = {".".join(p.relative_to(ROOT).with_suffix("").parts) for p, text in texts.items() if "@compiled" in text}
    for path, text in texts.items():
        body = ast.parse(text).body if "@compiled" in text else []
        taken = {a.asname or a.name: n.module for n in body if isinstance(n, ast.ImportFrom) for a in n.names}
        functions = [
            f for f in body if isinstance(f, ast.FunctionDef) and "compiled" in map(ast.unparse, f.decorator_list)
        ]
        used = {n.id for f in functions for line in f.body for n in ast.walk(line) if isinstance(n, ast.Name)}
        modules = {str(taken[name]) for name in used & taken.keys()}
        assert {m for m in modules if m.startswith("ops.")} - known - {"ops.arrays"} == set(), path


def test_every_job_has_its_job_file_and_can_be_run() -> None:
    needed = [ROOT / "jobs" / name / file for name in sorted(JOB_FOLDERS) for file in ("job.py", "__main__.py")]
    assert [str(path) for path in needed if not path.is_file()] == []


def test_what_is_done_in_one_place_is_spelled_in_one_file() -> None:
    assert spelled(r"isinstance\([^)]*DryRun", JOBS) == ["jobs/ingest/steps.py", "jobs/stage/runner.py"]
    assert spelled(r"atlas\.notes", JOBS) == ["jobs/stage/outputs.py"]
    assert spelled(r"""["'/{](_partials|_store|_tokens)(?=["'/])""", OPS + JOBS + BENCH) == [
        "jobs/run_folder/stages.py"
    ]


def test_few_files_lie_right_in_ops_and_unit_tests_mirror_the_rooms() -> None:
    assert len(list((ROOT / "ops").glob("*.py"))) <= MOST_FILES_RIGHT_IN_OPS
    rooms = {p.name for p in (ROOT / "ops").iterdir() if (p / "__init__.py").exists()}
    assert {p.name for p in (ROOT / "tests" / "unit").iterdir() if list(p.glob("test_*.py"))} == rooms
