"""A store that is only read: it touches nothing, sees what was deleted as gone, and knows where it could not write."""

from pathlib import Path

import pytest

from ops.errors import InputError
from ops.storage.read_only import ReadOnlyStore
from ops.storage.store import Store, View


@pytest.fixture
def store(tmp_path: Path) -> ReadOnlyStore:
    for name in ("run.json", "topk/part-00000.parquet", "topks/part-00000.parquet"):
        Store(str(tmp_path)).commit(name, lambda path: Path(path).write_text("[1]") and None)
    return ReadOnlyStore(str(tmp_path))


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    found = [folder, *folder.rglob("*")]
    return {str(p): (p.stat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in found}


def test_what_is_deleted_is_gone_for_the_reader_and_left_on_disk(store: ReadOnlyStore, tmp_path: Path) -> None:
    before = state(tmp_path)
    store.delete("topk")
    assert not store.exists("topk")
    assert not store.exists("topk/part-00000.parquet")
    assert store.files("topk") == []
    assert store.size("topk") == 0
    with pytest.raises(FileNotFoundError):
        store.parquet("topk/part-00000.parquet")
    assert store.files("topks") == ["part-00000.parquet"]
    assert store.read_json("run.json") == [1]
    with pytest.raises(RuntimeError, match=r"b\.json"):
        store.write_json("a/b.json", {})
    assert state(tmp_path) == before


def test_a_deleted_folder_is_gone_for_a_stage_too_whose_tables_are_in_it(store: ReadOnlyStore) -> None:
    Store(store.uri).write_json("_partials/topk/tables/topk/part-00000.parquet", [])
    stage = store.seen_by(View(own=("topk",), under="_partials/topk/tables"))
    assert stage.table_files("topk") == ["topk/part-00000.parquet"]
    store.delete("_partials/topk")
    assert stage.table_files("topk") == []
    assert not stage.exists("topk/part-00000.parquet")
    assert store.exists("topk/part-00000.parquet")


def test_asking_whether_it_could_be_written_changes_nothing(tmp_path: Path) -> None:
    before = state(tmp_path)
    for name in ("", "not/there/yet"):
        ReadOnlyStore(str(tmp_path / name)).check_writable()
    assert state(tmp_path) == before


def test_a_folder_that_cannot_be_made_is_refused_as_the_other_store_does(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name in ("/proc/atlas", "/proc/atlas/deeper", str(tmp_path / "file" / "run")):
        with pytest.raises(InputError) as real, Store(name).first_write():
            pass
        with pytest.raises(InputError) as planned:
            ReadOnlyStore(name).check_writable()
        assert str(planned.value) == str(real.value)
