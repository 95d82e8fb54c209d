import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.errors import InputError
from ops.sources.chat import records_in
from ops.sources.hub import check_columns, plain_batch
from ops.sources.parquet import PARQUET
from ops.sources.pieces import check_source, extent_of, missing_column, piece_extent, pieces, read_piece
from ops.sources.rows import Broken, Row
from ops.sources.source import HubSpec
from ops.sources.spec import parse_source
from tests.unit.sources.files import write

Talks = list[dict[str, Any]]

TALKS: Talks = [
    {
        "id": 7,
        "messages": [
            {"role": "system", "content": "Answer briefly."},
            {"role": "user", "content": "Why is the sky blue?\n\nAnd at night?"},
            {"role": "assistant", "content": "Air scatters blue light."},
        ],
    },
    {"id": 8, "messages": [{"role": "user", "content": "Thanks a lot."}]},
]
ROWS = [
    Row("Answer briefly.", "a:0", {"id": "7", "role": "system", "turn": "1", "last": "false"}),
    Row("Why is the sky blue?\n\nAnd at night?", "a:0", {"id": "7", "role": "user", "turn": "2", "last": "false"}),
    Row("Air scatters blue light.", "a:0", {"id": "7", "role": "assistant", "turn": "3", "last": "true"}),
    Row("Thanks a lot.", "a:1", {"id": "8", "role": "user", "turn": "1", "last": "true"}),
]


def written(suffix: str, talks: Talks = TALKS) -> bytes:
    """Conversations as the content of a file."""
    if suffix in (".jsonl", ".json"):
        lines = "".join(json.dumps(talk) + "\n" for talk in talks)
        return (lines if suffix == ".jsonl" else json.dumps(talks, indent=1)).encode()
    table, stream = pa.Table.from_pylist(talks), io.BytesIO()
    if suffix == ".parquet":
        pq.write_table(table, stream, row_group_size=1)
    else:
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table, max_chunksize=1)
    return stream.getvalue()


def rows_of(path: str, text_column: str = "text") -> list[Row | Broken]:
    source = parse_source(path)
    check_source(source, text_column)
    return [row for piece in pieces(source) for row in read_piece(piece, text_column, "reject")]


def named(rows: list[Row | Broken], suffix: str) -> list[Row | Broken]:
    return [row._replace(doc_id=row.doc_id.replace(f"a{suffix}", "a")) for row in rows]


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet", ".arrow"])
def test_a_message_is_a_row_and_a_conversation_a_document(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a{suffix}", written(suffix))
    assert named(rows_of(path), suffix) == ROWS
    (piece,) = pieces(parse_source(path))
    if suffix != ".json":
        assert extent_of(piece, ROWS) == pytest.approx(piece_extent(piece), rel=0.01 if suffix != ".arrow" else 0.9)
    columns = missing_column([parse_source(path)], "topic")
    assert columns is None if "json" in suffix else columns == ["id", "role", "turn", "last"]
    shared: Talks = [{"chat": [{"from": "human", "value": "Hello to you."}], "messages": None, "doc_id": "d"}]
    other = write(tmp_path / f"a{suffix}", written(suffix, shared))
    assert rows_of(other, "chat") == [Row("Hello to you.", "d", {"role": "human", "turn": "1", "last": "true"})]


def test_the_text_comes_first_and_conversations_has_from_and_value(tmp_path: Path) -> None:
    talk: dict[str, Any] = {"text": "As one text.", "messages": [{"role": "user", "content": "No."}]}
    assert rows_of(write(tmp_path / "a.json", written(".json", [talk]))) == [Row("As one text.", "a.json:0", {})]
    talk = {"conversations": [{"from": "human", "value": "Good day."}, {"from": "gpt", "value": "Hi."}]}
    found = rows_of(write(tmp_path / "a.json", written(".json", [talk])))
    assert [(row.text, row.meta["role"]) for row in found if isinstance(row, Row)] == [
        ("Good day.", "human"),
        ("Hi.", "gpt"),
    ]


def test_what_is_no_text_has_no_role_or_is_empty_is_rejected(tmp_path: Path) -> None:
    image, text = {"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "What is this?"}
    messages = [
        {"role": "user", "content": [text, image, {"type": "text", "text": "Tell me."}, 3]},
        {"role": "user", "content": [image]},
        {"content": "By nobody."},
        {"role": " ", "content": "By a blank."},
        {"role": "assistant", "content": None, "tool_calls": [{}]},
        {"role": "tool", "content": {"a": 1}},
        "bare",
        {"role": "user", "content": []},
        {"role": "assistant", "content": "The end."},
    ]
    path = write(
        tmp_path / "a.jsonl", written(".jsonl", [{"messages": messages}, {"messages": []}, {"messages": None}])
    )
    found = rows_of(path)
    assert [(row.text, row.meta["turn"]) for row in found if isinstance(row, Row)] == [
        ("What is this?\n\nTell me.", "1"),
        ("The end.", "9"),
    ]
    assert [(row.text, row.reason) for row in found if isinstance(row, Broken)] == [
        *(("(image_url)", "not_text"), ("(int)", "not_text"), ("(image_url)", "not_text")),
        *(("By nobody.", "no_role"), ("By a blank.", "no_role"), ("", "empty")),
        *(("(dict)", "not_text"), ("bare", "no_role"), ("", "empty"), ("", "empty"), ("", "empty")),
    ]
    assert [row.doc_id for row in found[-3:]] == ["a.jsonl:0", "a.jsonl:1", "a.jsonl:2"]


def test_a_column_of_other_lists_is_refused_by_its_type(tmp_path: Path) -> None:
    for messages in ([{"speaker": "x", "words": "y"}], ["x"], [1]):
        path = write(tmp_path / "a.parquet", written(".parquet", [{"messages": messages}]))
        with pytest.raises(InputError, match=r"'messages' is list<.*expected text, or messages with role and content"):
            rows_of(path)
    with pytest.raises(InputError, match="no column 'talk'; it has 'id', 'messages'"):
        rows_of(write(tmp_path / "a.parquet", written(".parquet")), "talk")


@pytest.mark.parametrize("messages", [3, "Many."])
def test_a_column_of_no_lists_is_no_text_either(tmp_path: Path, messages: object) -> None:
    path = write(tmp_path / "a.jsonl", written(".jsonl", [{"body": "Good day.", "messages": messages}]))
    with pytest.raises(InputError, match=r"no column 'text'; it has 'body', 'messages'; .*--text-column"):
        rows_of(path)


def test_conversations_of_the_hub_and_large_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.Table.from_pylist(TALKS)
    check_columns(HubSpec("org/set"), {field.name: field.type for field in table.schema}, "text")
    assert plain_batch(table, None, "text").schema.names == ["id", "messages"]
    long = [{"id": i, "messages": [{"role": "user", "content": f"{i} " * 2_000_000}]} for i in range(4)]
    path = write(tmp_path / "a.parquet", written(".parquet", long))
    monkeypatch.setattr("ops.sources.source_format.RANGE_BYTES", 1 << 21)
    parts = PARQUET.split_file(path, 1)
    assert parts == [{"first_group": i, "stop_group": i + 1, "first_row": i} for i in range(4)]
    assert records_in([*ROWS, Broken("", "a:2", "empty"), Row("x", "a:3", {"turn": "3"})]) == 4
