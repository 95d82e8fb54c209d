from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.errors import InputError
from ops.sources.parquet import read_parquet
from ops.sources.rows import Broken, Row
from tests.unit.sources.files import read


def _write(path: Path, table: pa.Table, **options: object) -> str:
    pq.write_table(table, path, **options)
    return str(path)


def test_every_type_of_text(tmp_path: Path) -> None:
    kinds = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()]
    text = pa.array(["é", None, "b"])
    for column in (*(text.cast(kind) for kind in kinds), text.dictionary_encode()):
        path = _write(tmp_path / "a.parquet", pa.table({"text": column}))
        expected = [Row("é", "a.parquet:0", {}), Broken("", "a.parquet:1", "empty"), Row("b", "a.parquet:2", {})]
        assert list(read(read_parquet, path)) == expected, column.type


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    values = pa.array([b"good", b"\xff", b"a\0", None, b" "])
    unchecked = pa.Array.from_buffers(pa.string(), 5, values.buffers())
    path = _write(tmp_path / "a.parquet", pa.table({"text": unchecked, "m": unchecked, "doc_id": unchecked}))
    rows = list(read(read_parquet, path))
    assert rows[0] == Row("good", "good", {"m": "good"})
    reasons = [row.reason for row in rows[1:] if isinstance(row, Broken)]
    assert reasons == ["invalid_text", "invalid_text", "empty", "empty"]
    assert [row.doc_id for row in rows[1:]] == ["\ufffd", "a\ufffd", "a.parquet:3", " "]


def test_scalars_become_metadata(tmp_path: Path) -> None:
    stamp = datetime(2020, 1, 2, 3, 4, 5)
    columns: dict[str, tuple[Any, str | None]] = {
        "b": ([True, None], "true"),
        "i": (pa.array([3, None], pa.uint8()), "3"),
        "f": ([0.1, None], "0.1"),
        "f32": (pa.array([0.1, None], pa.float32()), "0.1"),
        "d": ([Decimal("1.50"), None], "1.50"),
        "day": ([date(2020, 1, 2), None], "2020-01-02"),
        "s": (pa.array([stamp, None], pa.timestamp("s")), "2020-01-02T03:04:05.000"),
        "ns": (pa.array([stamp, None], pa.timestamp("ns")), "2020-01-02T03:04:05.000000000"),
        "z": (pa.array([stamp.replace(tzinfo=UTC), None], pa.timestamp("us", "UTC")), "2020-01-02T03:04:05.000000Z"),
        "span": ([timedelta(days=1), None], "1 day, 0:00:00"),
        "far": (pa.array([2**62, None], pa.int64()).view(pa.timestamp("us")), None),
        "long": (pa.array([10**15, None], pa.int64()).view(pa.duration("s")), None),
        "dict": (pa.array(["x", None]).dictionary_encode(), "x"),
        "struct": ([{"a": 1}, None], None),
        "bytes": ([b"a", None], None),
        "map": (pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())), None),
        "deep": ([[{"a": [{"b": "c"}]}], None], None),
        "null": (pa.nulls(2), None),
    }
    table = pa.table(
        {"text": ["a", "b"], "doc_id": pa.array([7, None]), **{name: c for name, (c, _) in columns.items()}}
    )
    first, second = read(read_parquet, _write(tmp_path / "a.parquet", table))
    assert second == Row("b", "a.parquet:1", {})
    assert first == Row("a", "7", {name: text for name, (_, text) in columns.items() if text is not None})


def test_an_unusable_text_column(tmp_path: Path) -> None:
    tables: list[tuple[dict[str, list[Any]], str]] = [
        ({"body": ["a"], "n": [1]}, "no column 'text'; it has 'body', 'n'; .*--text-column"),
        ({"text": [1]}, "'text' is int64, expected text"),
        ({"text": [["a"]]}, "'text' is list<.*>, expected text"),
        ({"messages": ["a"]}, "no column 'text'; it has 'messages'"),
    ]
    for columns, message in tables:
        path = _write(tmp_path / "a.parquet", pa.table(columns))
        with pytest.raises(InputError, match=rf"a\.parquet: .*{message}"):
            list(read(read_parquet, path, on_error="reject"))


def test_a_truncated_file(tmp_path: Path) -> None:
    path = Path(_write(tmp_path / "a.parquet", pa.table({"text": ["a", "b"]})))
    whole = path.read_bytes()
    for size, message in ((0, "is empty"), (20, "not a complete Parquet file"), (-9, "not a complete")):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=message):
            list(read(read_parquet, str(path), on_error="reject"))


def test_a_damaged_row_group_is_recorded_row_by_row(tmp_path: Path) -> None:
    table = pa.table({"text": [f"sentence {number}" for number in range(30)]})
    plain = {"use_dictionary": False, "write_page_checksum": True, "compression": "NONE"}
    path = Path(_write(tmp_path / "a.parquet", table, row_group_size=10, **plain))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"sentence 15", b"sentence xx"))
    with pytest.raises(InputError, match=r"a\.parquet: row group 1 \(rows 10 to 19\): .*--on-error reject"):
        list(read(read_parquet, str(path)))
    rows = list(read(read_parquet, str(path), on_error="reject"))
    assert [row.doc_id for row in rows] == [f"a.parquet:{number}" for number in range(30)]
    assert [isinstance(row, Broken) for row in rows] == [False] * 10 + [True] * 10 + [False] * 10


def test_large_rows_come_in_small_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.sources.parquet._BATCH_BYTES", 1000)
    texts = [f"{number} " + "x" * 600 for number in range(5)]
    path = _write(tmp_path / "a.parquet", pa.table({"text": texts}))
    assert [row.text for row in read(read_parquet, path)] == texts


def test_a_failure_of_the_storage_is_not_taken_for_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write(tmp_path / "a.parquet", pa.table({"text": ["a"] * 10}), row_group_size=5)
    reader = read(read_parquet, path, on_error="reject")
    next(reader)

    def fail(self: object, size: int = -1) -> bytes:
        self.failure = OSError("connection lost")  # type: ignore[attr-defined]
        raise self.failure  # type: ignore[attr-defined]

    monkeypatch.setattr("ops.storage.streams.ErrorRecordingStream.read", fail)
    with pytest.raises(OSError, match="connection lost"):
        list(reader)
