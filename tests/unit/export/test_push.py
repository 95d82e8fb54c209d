"""What an upload takes: the listed files, each by its own name."""

from pathlib import Path

from huggingface_hub.utils import filter_repo_objects

from ops.export.push import literal


def test_a_listed_name_stands_for_itself_alone(tmp_path: Path) -> None:
    listed = ["a[1].parquet", "b*.parquet", "c?.parquet", "d/e.parquet", "!f", "[!a]"]
    others = ["a1.parquet", "bb.parquet", "cc.parquet", "d/e.parquet/.env", "x/d/e.parquet", "d", "f", "b", ".env"]
    found = filter_repo_objects([*listed, *others], allow_patterns=literal(listed))
    assert list(found) == listed
