"""What an upload takes: the listed files, each by its own name."""

from pathlib import Path

from huggingface_hub.utils import filter_repo_objects

from ops.export.manifest import check_listed
from ops.export.push import literal
from tests.unit.export.small_export import SmallRun, export


def test_a_listed_name_stands_for_itself_alone(tmp_path: Path) -> None:
    listed = ["a[1].parquet", "b*.parquet", "c?.parquet", "d/e.parquet", "!f", "[!a]"]
    others = ["a1.parquet", "bb.parquet", "cc.parquet", "d/e.parquet/.env", "x/d/e.parquet", "d", "f", "b", ".env"]
    found = filter_repo_objects([*listed, *others], allow_patterns=literal(listed))
    assert list(found) == listed


def test_names_with_marks_of_patterns_are_exported_and_listed_as_they_are(tmp_path: Path) -> None:
    run = SmallRun(tmp_path / "run")
    run.write("a*[b]?", b"one")
    export(run, tmp_path / "to")
    assert "a*[b]?/part-00000.parquet" in check_listed(tmp_path / "to", "--to to")
