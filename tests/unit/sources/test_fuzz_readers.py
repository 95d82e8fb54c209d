"""Arbitrary bytes through every reader: nothing but `InputError` and valid rows may come out."""

import io
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ops.errors import InputError
from ops.sources.arrow import read_arrow
from ops.sources.arrow_rows import batch_rows, is_scalar, is_string
from ops.sources.csv import read_csv
from ops.sources.hub import check_columns, plain_batch, preset_batch
from ops.sources.json import read_json, read_jsonl
from ops.sources.parquet import read_parquet
from ops.sources.presets import PRESETS
from ops.sources.rows import Broken, Row
from ops.sources.source import HubSpec, SourceFile
from ops.sources.source_format import Rows
from ops.sources.text import read_document, read_paragraphs, read_txt

BITS = st.sampled_from(
    [
        *(b"text", b",", b'"', b"\n", b"\r\n", b"\r", b"\0", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf"),
        *(b"doc_id", b" ", b"a", b'{"text": "', b'"}', b"{", b"}", b"[", b"null", b"1e999", b"NaN"),
        *(b"\\ud800", b"\\u0000", b":", b"\x1f\x8b", b'{"messages": [{"role": "u", "content": "'),
    ]
)
CONTENT = st.one_of(st.binary(max_size=200), st.lists(BITS, max_size=40).map(b"".join))
SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def _check_values(rows: list[Row | Broken]) -> None:
    for row in rows:
        meta = row.meta if isinstance(row, Row) else {}
        for value in (row.text, row.doc_id, *meta, *meta.values()):
            value.encode()
            assert "\0" not in value
        if isinstance(row, Row):
            assert row.text.strip()
        else:
            assert len(row.text) <= 200
            assert row.reason in {"empty", "invalid_text", "broken", "no_role", "not_text"}


def _check(reader: Callable[..., Rows], path: Path) -> list[Row | Broken]:
    rows: list[Row | Broken] = []
    message = path.name
    try:
        rows.extend(reader(SourceFile(str(path), on_error="reject")))
    except InputError as error:
        message = str(error)
    assert "\n" not in message
    assert path.name in message
    _check_values(rows)
    return rows


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        *((read_txt, "a.txt.zst"), (read_csv, "a.csv"), (read_csv, "a.csv.gz"), (read_csv, "a.tsv")),
        *((read_paragraphs, "a.txt"), (read_document, "a.py"), (read_document, "a.py.gz")),
        *((read_parquet, "a.parquet"), (read_json, "a.json"), (read_json, "a.json.zst"), (read_arrow, "a.arrow")),
    ],
)
@given(content=CONTENT)
@SETTINGS
def test_arbitrary_bytes(tmp_path: Path, reader: Callable[..., Rows], name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    _check(reader, path)


@given(content=CONTENT)
@SETTINGS
def test_arbitrary_bytes_below_a_header(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"m,text\n" + content)
    rows = _check(read_csv, path)
    # Wrong quotes take in lines: the document's name says which.
    names = [row.doc_id.partition(" (lines ") for row in rows]
    assert [name for name, _, _ in names] == [f"a.csv:{number}" for number in range(len(rows))]
    taken = [[int(n) for n in lines.rstrip(")").split(" to ")] for _, more, lines in names if more]
    assert all(2 <= first < last <= content.count(b"\n") + 2 for first, last in taken)
    assert all(a[1] < b[0] for a, b in pairwise(taken))


@given(content=CONTENT)
@SETTINGS
def test_every_line_is_accounted_for(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    assert len(_check(read_txt, path)) == len(lines) - (lines[-1] == b"")
    jsonl = tmp_path / "a.jsonl"
    jsonl.write_bytes(b'{"text": "a"}\n' + content)
    assert len(_check(read_jsonl, jsonl)) == 1 + len(content.split(b"\n")) - content.endswith(b"\n") - (not content)


def _parquet() -> bytes:
    table = pa.table({"text": [f"text {number}" for number in range(20)], "n": range(20), "doc_id": ["a", None] * 10})
    stream = io.BytesIO()
    pq.write_table(table, stream, row_group_size=5)
    return stream.getvalue()


PARQUET = _parquet()


@given(place=st.integers(4, len(PARQUET) - 1), value=st.integers(0, 255), size=st.integers(1, 8))
@SETTINGS
def test_damaged_parquet(tmp_path: Path, place: int, value: int, size: int) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(PARQUET[:place] + bytes([value]) * size + PARQUET[place + size :])
    rows = _check(read_parquet, path)
    assert len(rows) <= 20 or place > len(PARQUET) // 2


def _arrow() -> bytes:
    table, stream = pq.read_table(io.BytesIO(PARQUET)), io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    return stream.getvalue()


ARROW = _arrow()


@example(place=ARROW.index(b"text"), value=0x80, size=1)  # a column's name that is not UTF-8
@given(place=st.integers(4, len(ARROW) - 1), value=st.integers(0, 255), size=st.integers(1, 8))
@SETTINGS
def test_damaged_arrow(tmp_path: Path, place: int, value: int, size: int) -> None:
    path = tmp_path / "a.arrow"
    path.write_bytes(ARROW[:place] + bytes([value]) * size + ARROW[place + size :])
    _check(read_arrow, path)


COLUMN_KINDS = st.sampled_from(
    [
        st.none() | st.booleans(),
        st.none() | st.integers(-3, 9),
        st.none() | st.floats(),
        st.none() | st.text(max_size=20),
        st.none() | st.binary(max_size=20),
        st.none() | st.datetimes(),
        st.none() | st.lists(st.none() | st.text(max_size=5), max_size=3),
        st.none() | st.lists(st.integers(0, 9), max_size=3),
        st.dictionaries(st.sampled_from("ab"), st.integers(0, 9), max_size=2),
        st.none(),
    ]
)


@st.composite
def tables(draw: st.DrawFn, columns: list[str]) -> pa.Table:
    """A table of some rows whose columns are of any type."""
    size = draw(st.integers(1, 6))
    kinds = {name: draw(COLUMN_KINDS) for name in columns}
    return pa.table({name: pa.array(draw(st.lists(kinds[name], min_size=size, max_size=size))) for name in columns})


def _refused(spec: HubSpec, table: pa.Table) -> bool:
    message = spec.shown
    try:
        check_columns(spec, {field.name: field.type for field in table.schema}, "text")
    except InputError as error:
        message = str(error)
    assert "\n" not in message
    assert spec.shown in message
    return message != spec.shown


@given(data=st.data(), name=st.sampled_from([*sorted(PRESETS), "org/set"]))
@SETTINGS
def test_rows_of_any_type_of_a_dataset(data: st.DataObject, name: str) -> None:
    preset = PRESETS.get(name)
    columns = ["text", "doc_id", "a", "b"]
    if preset:
        columns = [preset.text, *(column.name for column in (preset.doc_id, *preset.meta.values()) if column)]
    table = data.draw(tables(columns))
    if _refused(HubSpec(preset.hub, preset=name) if preset else HubSpec(name), table):
        assert preset or not is_string(table["text"].type)
        return
    rows = batch_rows(
        preset_batch(table, None, preset) if preset else plain_batch(table, None, "text"), SourceFile("n"), 7
    )
    assert len(rows) == table.num_rows
    _check_values(rows)
    assert not any(row.reason == "broken" for row in rows if isinstance(row, Broken))
    if preset and preset.doc_id is None:
        assert [row.doc_id for row in rows] == [f"n:{number}" for number in range(7, 7 + table.num_rows)]
    scalar = {field.name for field in table.schema if is_scalar(field.type)} - {"text", "doc_id"}
    assert all(set(row.meta) <= set(preset.meta if preset else scalar) for row in rows if isinstance(row, Row))
