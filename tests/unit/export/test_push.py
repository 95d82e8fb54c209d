"""What an upload takes: the listed files, each by its own name."""

from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub.utils import filter_repo_objects

from ops.export.push import push


def test_a_listed_name_stands_for_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = list[str]()
    listed = ["a[1].parquet", "b*.parquet", "c?.parquet", "d/e.parquet", "!f", "[!a]"]
    others = ["a1.parquet", "bb.parquet", "cc.parquet", "d/e.parquet/.env", "x/d/e.parquet", "d", "f", "b", ".env"]

    def upload(*, allow_patterns: list[str], **_: object) -> None:
        taken.extend(filter_repo_objects([*listed, *others], allow_patterns=allow_patterns))

    hub = SimpleNamespace(create_repo=lambda *_, **options: "address", upload_folder=upload)
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: hub)
    assert push("folder", listed, "org/name", False) == "address"
    assert taken == listed
