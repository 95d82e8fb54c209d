import io
from pathlib import Path

import datasets
import pyarrow as pa
import pytest

from ops.errors import InputError
from ops.sources.arrow import read_arrow
from ops.sources.pieces import check_source, missing_column, pieces, read_piece
from ops.sources.rows import Broken, Row
from ops.sources.spec import parse_source
from tests.unit.sources.files import read, write

TABLE = pa.table(
    {"text": [f"text {i}" for i in range(7)], "n": range(7), "doc_id": ["a", None, *"bcdef"], "v": [[1]] * 7}
)


def written(table: pa.Table = TABLE, as_file: bool = False, rows: int = 3) -> bytes:
    stream = io.BytesIO()
    with (pa.ipc.new_file if as_file else pa.ipc.new_stream)(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return stream.getvalue()


@pytest.mark.parametrize("as_file", [False, True])
def test_files_and_streams_give_their_rows(tmp_path: Path, as_file: bool) -> None:
    path = write(tmp_path / "a.arrow", written(as_file=as_file))
    rows = list(read(read_arrow, path))
    assert rows[:3] == [
        Row("text 0", "a", {"n": "0"}),
        Row("text 1", "a.arrow:1", {"n": "1"}),
        Row("text 2", "b", {"n": "2"}),
    ]
    assert [row.text for row in rows] == TABLE["text"].to_pylist()
    assert missing_column([parse_source(path)], "x") == ["n"]


def saved() -> datasets.Dataset:
    features = datasets.Features({"text": datasets.Value("string"), "mood": datasets.ClassLabel(names=["sad", "glad"])})
    rows = {"text": [f"text {i}" for i in range(10)], "mood": [0, 1, None, 1, 0] * 2}
    return datasets.Dataset.from_dict(rows, features=features)


def test_a_folder_that_datasets_saved(tmp_path: Path) -> None:
    datasets.disable_progress_bars()
    saved().filter(lambda row: row["mood"] != 0).save_to_disk(tmp_path / "one", num_shards=2)
    write(tmp_path / "one" / "cache-1.arrow", written())
    source = parse_source(str(tmp_path / "one"))
    check_source(source)
    rows = [row for piece in pieces(source) for row in read_piece(piece)]
    assert (source.dataset, source.kind) == ("one", "arrow")
    assert [row.text for row in rows] == [f"text {i}" for i in (1, 2, 3, 6, 7, 8)]
    assert [row.meta for row in rows if isinstance(row, Row)] == [{"mood": "glad"}, {}, {"mood": "glad"}] * 2
    datasets.DatasetDict({"train": saved(), "test": saved().select([3])}).save_to_disk(tmp_path / "both")
    found = parse_source(f"n={tmp_path}/both")
    assert parse_source(f"{tmp_path}/both/test/").dataset == "test"
    rows = [row for piece in pieces(found) for row in read_piece(piece)]
    assert [row.text for row in rows] == [*saved()["text"], "text 3"]
    assert rows[-1].doc_id == "test/data-00000-of-00001.arrow:0"


@pytest.mark.parametrize("content", ["[]", "{}", '{"_data_files": 3}', "{", '{"_data_files": [{"x": 1}]}'])
def test_a_damaged_record_of_a_saved_folder_is_named(tmp_path: Path, content: str) -> None:
    write(tmp_path / "set" / "state.json", content)
    with pytest.raises(InputError, match=r"set/state\.json: is no record of a saved dataset .*save it again"):
        parse_source(str(tmp_path / "set"))


def test_damage(tmp_path: Path) -> None:
    for content in (b"", b"plain text", b"ARROW1", written()[:50]):
        with pytest.raises(InputError, match=r"a\.arrow: not an Arrow file or stream"):
            list(read(read_arrow, write(tmp_path / "a.arrow", content), on_error="reject"))
    data = written()
    path = write(tmp_path / "a.arrow", data[: len(data) * 3 // 4])
    rows = list(read(read_arrow, path, on_error="reject"))
    assert [row.text for row in rows[:-1]] == TABLE["text"].to_pylist()[: len(rows) - 1]
    assert rows[-1] == Broken("", f"a.arrow:{len(rows) - 1}", "broken")
    with pytest.raises(InputError, match=rf"a\.arrow: after row {len(rows) - 1}: .*--on-error reject"):
        list(read(read_arrow, path))
    with pytest.raises(InputError, match="'n' is int64, expected text"):
        list(read(read_arrow, write(tmp_path / "a.arrow", data), text_column="n"))
