"""Rules for all of the code: which package imports which, and where names are spelled."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
OPS = sorted((ROOT / "ops").rglob("*.py"))
JOBS = sorted((ROOT / "jobs").rglob("*.py"))
FILES = [*OPS, *JOBS]

# From the ground up: a room, or a file right in ops/, imports from lower floors and from itself alone.
FLOORS = {
    "ops": (
        {"arrays", "errors", "clock", "compiled", "reloaded_pipeline", "schema"},
        {"hashing", "cluster_address"},
        {"penn", "sampling"},
        {"penn_names", "shards"},
        {"storage", "reducers", "model", "statistics"},
        {"figures", "dictionaries"},
        {"sources", "patterns", "english", "topk", "mixing", "meaning", "finetune"},
        {"corpus", "sentences", "psi", "positions", "outputs"},
        {"mine", "estimate", "compare"},
        {"show"},
        {"tokens", "explain", "report", "export"},
        {"audit"},
    ),
    "jobs": ({"engine"}, {"stage"}, {"a job"}),
}
MOST_FILES_RIGHT_IN_OPS = 12


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            # `from ops import shards` imports a module, `from ops.shards import draw` a name of one.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in (
            "import_module",
            "__import__",
        ):
            yield from (str(a.value) for a in node.args if isinstance(a, ast.Constant))


def room(package: str, parts: tuple[str, ...]) -> str:
    """Return the room of a module inside a package, given the parts of its path."""
    name = parts[0].removesuffix(".py")
    known = set.union(*FLOORS[package])
    return name if package == "ops" or name in known else "a job"


def floor(package: str, name: str) -> int:
    return next((i for i, rooms in enumerate(FLOORS[package]) if name in rooms), -1)


def undocumented(parent: ast.AST, name: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if not ast.get_docstring(node):
                yield f"{name}.{node.name}"
            if isinstance(node, ast.ClassDef):
                yield from undocumented(node, f"{name}.{node.name}")


def test_the_code_is_found() -> None:
    assert {"top_k.py", "runner.py", "job.py"} <= {path.name for path in FILES}


def test_nested_imports_are_seen() -> None:
    source = "def f():\n    if 1:\n        from ray.data import x\n    importlib.import_module('ray')\n"
    assert list(imported(ast.parse(source))) == ["ray.data.x", "ray"]


def upward(path: Path) -> Iterator[str]:
    package, *parts = path.relative_to(ROOT).parts
    own = room(package, tuple(parts))
    for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
        top, _, rest = name.partition(".")
        if top == "jobs" and package == "ops":
            yield name
        elif top == package and rest:
            other = room(package, tuple(rest.split(".")))
            if other != own and floor(package, other) >= floor(package, own):
                yield name


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_room_imports_upward(path: Path) -> None:
    if path.name != "__init__.py" or path.parent not in (ROOT / "ops", ROOT / "jobs"):
        package, *parts = path.relative_to(ROOT).parts
        assert floor(package, room(package, tuple(parts))) >= 0, "a room that no floor names"
    assert list(upward(path)) == []


def test_an_upward_import_is_seen() -> None:
    assert floor("ops", "mine") > floor("ops", "patterns") > floor("ops", "errors")
    assert room("jobs", ("topk", "job.py")) == "a job"
    assert room("jobs", ("stage", "runner.py")) == "stage"


FOLDERS = sorted(p.name for p in (ROOT / "jobs").iterdir() if p.is_dir() and list(p.glob("*.py")))
JOB_FOLDERS = [name for name in FOLDERS if name not in ("engine", "stage")]


def other_jobs(path: Path) -> Iterator[str]:
    """What a file of `jobs/` imports of other jobs' folders, and does not take from what these offer in job.py."""
    own = path.relative_to(ROOT / "jobs").parts[0]
    for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
        top, _, rest = name.partition(".")
        folder, _, module = rest.partition(".")
        if top == "jobs" and folder in JOB_FOLDERS and folder != own and module.partition(".")[0] != "job":
            yield name


@pytest.mark.parametrize("path", JOBS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_job_takes_of_another_only_what_its_job_file_offers(path: Path) -> None:
    assert list(other_jobs(path)) == []


def test_an_import_of_another_job_s_inside_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jobs" / "mixing" / "job.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "from jobs.topk import job, score\nfrom jobs.topk.merge import x\nfrom jobs.mixing import measure\n"
    )
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    assert list(other_jobs(path)) == ["jobs.topk.score", "jobs.topk.merge.x"]


@pytest.mark.parametrize("name", JOB_FOLDERS)
def test_every_job_has_its_job_file_and_can_be_run(name: str) -> None:
    assert {"job.py", "__main__.py"} <= {path.name for path in (ROOT / "jobs" / name).glob("*.py")}


def test_the_runner_alone_asks_whether_a_run_is_dry() -> None:
    asked = re.compile(r"isinstance\([^)]*DryRun")
    assert [p for p in JOBS if asked.search(p.read_text(encoding="utf-8"))] == [ROOT / "jobs" / "stage" / "runner.py"]


def test_partial_files_are_written_and_read_in_one_place() -> None:
    spelled = [p for p in JOBS if "atlas.notes" in p.read_text(encoding="utf-8")]
    assert spelled == [ROOT / "jobs" / "stage" / "files.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_engine_alone_imports_ray(path: Path) -> None:
    tops = {name.partition(".")[0] for name in imported(ast.parse(path.read_text(encoding="utf-8")))}
    assert "ray" not in tops or path.parent == ROOT / "jobs" / "engine"


def test_what_is_under_way_is_spelled_in_one_file() -> None:
    spelled = re.compile(r"""["'/{](_partials|_store|_tokens)(?=["'/])""")
    found = [p for p in FILES + sorted((ROOT / "bench").glob("*.py")) if spelled.search(p.read_text(encoding="utf-8"))]
    assert found == [ROOT / "jobs" / "stage" / "stages.py"]


def test_few_files_lie_right_in_ops() -> None:
    assert len(list((ROOT / "ops").glob("*.py"))) <= MOST_FILES_RIGHT_IN_OPS


def test_unit_tests_mirror_the_rooms() -> None:
    rooms = {p.name for p in (ROOT / "ops").iterdir() if (p / "__init__.py").exists()}
    folders = {p.name for p in (ROOT / "tests" / "unit").iterdir() if list(p.glob("test_*.py"))}
    assert folders == rooms


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_is_public_is_documented(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert list(undocumented(tree, path.stem)) == []
