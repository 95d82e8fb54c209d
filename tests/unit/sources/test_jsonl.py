from pathlib import Path

import pytest

from ops.errors import InputError
from ops.sources.json import read_jsonl
from ops.sources.rows import Broken, Row
from tests.unit.sources.files import read, write


def test_values_become_strings(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        '{"text": "\\u00e9 \\ud83d\\ude00", "doc_id": 5, "b": true, "i": 3, "f": 0.5, "s": "x",'
        ' "n": null, "l": [1]}\n'
        '{"text": "b", "doc_id": null}\n',
    )
    assert list(read(read_jsonl, path)) == [
        Row("é 😀", "5", {"b": "true", "i": "3", "f": "0.5", "s": "x"}),
        Row("b", "a.jsonl:1", {}),
    ]


def test_rows_that_cannot_be_used(tmp_path: Path) -> None:
    lines = [
        b'{"text": null}',
        b'{"other": 1}',
        b"",
        b'{"text": 3}',
        b'{"text": {"a": 1}}',
        b'{"text": "\\ud800"}',
        b'{"text": "\\u0000"}',
        b'{"text": "\xff"}',
        b'{"text": "ok", "m": "\\ud800"}',
        b'{"text": "ok", "doc_id": "\xff"}',
        b'{"text": "ok", "m\xff": "a"}',
        b'{"text": "ok", "M\\ud800": "x"}',
        b'{"text": "ok", "M\\u0000": "x"}',
    ]
    rows = list(read(read_jsonl, write(tmp_path / "a.jsonl", b"\n".join(lines))))
    reasons = [row.reason if isinstance(row, Broken) else "" for row in rows]
    assert reasons == ["empty"] * 3 + ["not_text"] * 2 + ["invalid_text"] * 8
    assert rows[-1] == Broken("ok", "a.jsonl:12", "invalid_text")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{", "not valid JSON"),
        ('{"text": "a"} x', "not valid JSON"),
        ("[1]", "a JSON list, expected an object"),
        ("[" * 100_000, "not valid JSON"),
        ('{"text": ' + "9" * 5000 + "}", "not valid JSON"),
    ],
)
def test_a_broken_line_fails_or_is_recorded(tmp_path: Path, line: str, found: str) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "a"}\n' + line + '\n{"text": "b"}\n')
    with pytest.raises(InputError, match=rf"a\.jsonl: line 2: {found}.*--on-error reject"):
        list(read(read_jsonl, path))
    rows = list(read(read_jsonl, path, on_error="reject"))
    assert [row.text for row in rows if isinstance(row, Row)] == ["a", "b"]
    assert rows[1][1:] == ("a.jsonl:1", "broken")


def test_a_missing_text_column_is_named_and_a_late_one_is_enough(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"body": "a", "n": 1}\n' * 3)
    with pytest.raises(InputError, match=r"no column 'text'; it has 'body', 'n'; .*--text-column"):
        list(read(read_jsonl, path, on_error="reject"))
    assert len(list(read(read_jsonl, path, text_column="body"))) == 3
    late = write(tmp_path / "late.jsonl", '{"n": 1}\n' * 50 + '{"text": "a"}\n')
    assert len(list(read(read_jsonl, late))) == 51
    assert list(read(read_jsonl, write(tmp_path / "empty.jsonl", ""))) == []
