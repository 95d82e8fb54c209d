import os
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.errors import InputError
from ops.storage.store import FINGERPRINT, ROWS, SHARD, Store, is_whole, shard_footer


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "run"))


def put(store: Store, name: str, footer: dict[bytes, bytes], rows: int = 3) -> None:
    table = pa.table({"a": list(range(rows))}).replace_schema_metadata(footer)
    store.commit(name, lambda path: pq.write_table(table, path))


def everything(store: Store) -> list[str]:
    root = Path(store.root)
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())


def test_a_commit_shows_nothing_before_it_is_whole(store: Store) -> None:
    def write(path: str) -> None:
        Path(path).write_text("half")
        assert store.files("topk") == []
        assert not store.exists("topk/part")
        assert os.path.dirname(path) == store.path("topk")
        assert os.path.basename(path).startswith(".part.")

    store.commit("topk/part", write)
    assert everything(store) == ["topk/part"]


def test_a_failing_write_leaves_what_was_there(store: Store) -> None:
    def write(path: str) -> None:
        Path(path).write_text("half")
        raise RuntimeError("the power went")

    with pytest.raises(RuntimeError, match="the power went"):
        store.commit("part", write)
    with pytest.raises(FileNotFoundError):
        store.commit("part", lambda path: None)
    assert everything(store) == []
    for text in ("older", "old"):
        store.commit("part", lambda path, text=text: Path(path).write_text(text) and None)  # type: ignore[misc]
    with pytest.raises(RuntimeError, match="the power went"):
        store.commit("part", write)
    assert everything(store) == ["part"]
    assert Path(store.path("part")).read_text() == "old"


def test_listings_leave_out_what_is_hidden_or_not_asked_for_and_what_is_deleted_is_gone(store: Store) -> None:
    for name in ("t/b.parquet", "t/a.parquet", "t/.c.parquet.123", "t/c.txt", "t/deep/d.parquet", "b"):
        Path(store.path(name)).parent.mkdir(parents=True, exist_ok=True)
        Path(store.path(name)).write_text("12345")
    assert store.files("t", ".parquet") == ["a.parquet", "b.parquet"]
    assert store.files("none") == []
    assert store.size("t") == 25
    assert store.size("none") == 0
    assert store.entries() == ["b", "t"]
    assert Store(store.path("none")).entries() == []
    for name in ("t", "b", "never there"):
        store.delete(name)
    assert store.entries() == []


def test_json_goes_there_and_back(store: Store) -> None:
    value = {"a": [1, None, "ü😀"], "b": {"c": 0.1}}
    store.write_json("run.json", value)
    assert store.read_json("run.json") == value
    assert "ü" in Path(store.path("run.json")).read_text(encoding="utf-8")
    Path(store.path("run.json")).write_text("{")
    with pytest.raises(InputError, match=r"run\.json: is not JSON"):
        store.read_json("run.json")


def test_a_part_is_whole_only_with_its_own_footer(store: Store) -> None:
    put(store, "p", {**shard_footer("f1", "shard-3", 3), b"atlas.notes": b"{}"})
    assert is_whole(store, "p", "f1", "shard-3")
    assert not is_whole(store, "p", "f2", "shard-3")
    assert not is_whole(store, "p", "f1", "shard-33")
    assert not is_whole(store, "q", "f1", "shard-3")
    whole = Path(store.path("p")).read_bytes()
    for left in (0, 3, 100, -1):
        Path(store.path("p")).write_bytes(whole[:left])
        assert not is_whole(store, "p", "f1", "shard-3")
    for footer in (
        {},
        shard_footer("f1", "shard-3", 2),
        {FINGERPRINT: b"f1", SHARD: b"shard-3"},
        {FINGERPRINT: b"f1", ROWS: b"3"},
        {SHARD: b"shard-3", ROWS: b"3"},
    ):
        put(store, "p", footer)
        assert not is_whole(store, "p", "f1", "shard-3")
    Path(store.path("folder")).mkdir()
    assert not is_whole(store, "folder", "f1", "shard-3")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = pytest.raises(InputError, match=r"--out .*/file/run: cannot be written \(Not a directory\)")
    with said, Store(str(tmp_path / "file" / "run")).first_write():
        pass
    with Store(str(tmp_path / "fresh")).first_write():
        assert (tmp_path / "fresh").is_dir()


def test_a_name_without_a_scheme_is_a_local_path_and_so_is_a_copy_s() -> None:
    with pytest.raises(InputError, match="nosuch://x: cannot be opened"):
        Store("nosuch://x")
    store = pickle.loads(pickle.dumps(Store("~/x")))
    assert store.root == os.path.expanduser("~/x")
    assert store.local


def test_a_file_uri_is_a_path(tmp_path: Path) -> None:
    store = Store(f"file://{tmp_path}/run")
    put(store, "t/p", shard_footer("f", "s", 3))
    assert is_whole(Store(str(tmp_path / "run")), "t/p", "f", "s")


def test_a_remote_commit_is_one_upload(tmp_path: Path) -> None:
    from pyarrow import fs

    store = Store(str(tmp_path))
    store.filesystem, store.root, store.local = fs.SubTreeFileSystem(str(tmp_path), store.filesystem), "", False

    def write(path: str) -> None:
        Path(path).write_text("half")
        assert list(tmp_path.iterdir()) == []
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        store.commit("p", write)
    assert list(tmp_path.iterdir()) == []
    put(store, "p", shard_footer("f", "s", 3))
    assert is_whole(store, "p", "f", "s")
    assert store.entries() == ["p"]


def test_the_room_of_a_folder_that_is_not_there_yet_is_that_of_the_one_it_will_lie_in(tmp_path: Path) -> None:
    free = Store(str(tmp_path)).free_bytes()
    assert free
    assert Store(str(tmp_path / "a" / "b")).free_bytes() == pytest.approx(free, rel=0.1)


def test_names_that_are_no_utf_8_and_links_that_lead_nowhere_or_round_are_listed(store: Store) -> None:
    store.commit("topk/part-0.parquet", lambda path: Path(path).write_text("abc") and None)
    root = Path(store.root)
    odd = os.fsdecode(b"odd\xff.parquet")
    (root / "topk" / odd).write_text("1")
    (root / "topk" / "round").symlink_to(root / "topk", target_is_directory=True)
    (root / "topk" / "nowhere").symlink_to(root / "none")
    assert store.files("topk", ".parquet") == [odd, "part-0.parquet"]
    assert store.files("none") == []
    assert store.entries() == ["topk"]
    found = store.walk("")
    assert set(found) == {f"topk/{odd}", "topk/nowhere", "topk/part-0.parquet"}
    assert store.walk("topk") == found
    assert found["topk/part-0.parquet"] == 3


def test_a_footer_whose_names_are_damaged_is_a_damaged_file(store: Store) -> None:
    store.commit("damaged.parquet", lambda path: pq.write_table(pa.table({"wanted": [1]}), path))
    path = Path(store.path("damaged.parquet"))
    path.write_bytes(path.read_bytes().replace(b"wanted", b"wan\xffed"))
    with pytest.raises((OSError, pa.ArrowException)):
        store.parquet("damaged.parquet")
