import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ops.errors import InputError
from ops.sources import json as json_reader
from ops.sources.json import read_json, read_jsonl
from ops.sources.lines import read_text
from ops.sources.rows import Broken, Row
from tests.unit.sources.files import read, write

VALUES = st.one_of(
    st.integers(-9, 999),
    st.fixed_dictionaries(
        {"text": st.text(max_size=9) | st.none()}, optional={"n": st.integers(), "é": st.lists(st.none(), max_size=2)}
    ),
    st.lists(st.text(max_size=3), max_size=2),
)


def test_arrays_and_objects_give_the_rows_of_json_lines(tmp_path: Path) -> None:
    records = [
        {"text": f"line {i} [a, b]", "doc_id": "d" if i % 2 else None, "n": i, "x": {"y": [1]}} for i in range(9)
    ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    expected = [
        row._replace(doc_id=row.doc_id.replace("jsonl", "json"))
        for row in read(read_jsonl, write(tmp_path / "a.jsonl", lines))
    ]
    assert expected[1] == Row("line 1 [a, b]", "d", {"n": "1"})
    for content in (json.dumps(records), json.dumps(records, indent=2), f"\ufeff \n{json.dumps(records)}\n", lines):
        assert list(read(read_json, write(tmp_path / "a.json", content))) == expected
    compressed = write(tmp_path / "a.json.gz", gzip.compress(json.dumps(records).encode()))
    assert [row.text for row in read(read_json, compressed)] == [row.text for row in expected]
    assert list(read(read_json, write(tmp_path / "a.json", json.dumps(records[0], indent=1)))) == expected[:1]


@pytest.mark.parametrize("block", [1, 7, 1 << 18])
@given(values=st.lists(VALUES, max_size=6), indent=st.none() | st.integers(0, 2), is_array=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_of_any_size_give_what_json_gives(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    block: int,
    values: list[object],
    indent: int | None,
    is_array: bool,
) -> None:
    monkeypatch.setattr("ops.sources.lines._BLOCK", block)
    content = json.dumps(values, indent=indent) if is_array else "\n".join(json.dumps(value) for value in values)
    path = write(tmp_path / "a.json", content)
    if not is_array and isinstance(next(iter(values), None), list):
        return  # the first list is the array
    assert list(json_reader._Values(read_text(path))) == values


@pytest.mark.parametrize(
    ("content", "found", "texts"),
    [
        (
            '[{"text": "a"}, {"text": "b"}',
            "after record 2: not valid JSON (the file ends within the array)",
            ["a", "b"],
        ),
        ('[{"text": "a"}, {"text": "b', "after record 1: not valid JSON (Unterminated string", ["a"]),
        ('[{"text": "a"} {"text": "b"}]', "after record 1: not valid JSON (expected ',' or ']'", ["a"]),
        ('[{"text": "a"}, ]', "after record 1: not valid JSON (Expecting value", ["a"]),
        ('[{"text": "a"}] {"text": "b"}', "after record 1: not valid JSON ('{' after the end of the array)", ["a"]),
        ('[{"text": "a"}, 3, {"text": "b"}]', "record 1: a JSON int, expected an object", ["a", "b"]),
        ('{"text": "a"}, {"text": "b"}', "after record 1: not valid JSON (Expecting value", ["a"]),
    ],
)
def test_broken_places(tmp_path: Path, content: str, found: str, texts: list[str]) -> None:
    path = write(tmp_path / "a.json", content)
    rows = list(read(read_json, path, on_error="reject"))
    assert [row.text for row in rows if isinstance(row, Row)] == texts
    (lost,) = (row for row in rows if isinstance(row, Broken))
    assert (lost.doc_id, lost.reason) == ("a.json:1" if len(texts) < 2 or "int" in found else "a.json:2", "broken")
    with pytest.raises(InputError) as error:
        list(read(read_json, path))
    assert f"a.json: {found}" in str(error.value)


def test_a_value_without_end_is_taken_for_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_reader, "ROW_BYTES", 100)
    monkeypatch.setattr("ops.sources.lines._BLOCK", 10)
    path = write(tmp_path / "a.json", '[{"text": "a"}, {"text": "' + "x" * 500 + '"}]')
    first, lost = read(read_json, path, on_error="reject")
    assert (first.text, lost.doc_id) == ("a", "a.json:1")
    assert isinstance(lost, Broken)


def test_an_object_around_the_array_is_refused_by_its_keys(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.json: no column 'text'; it has 'version', 'data'"):
        list(read(read_json, write(tmp_path / "a.json", '{"version": 1, "data": [{"text": "a"}]}')))
