"""Read presets of every kind through `datasets`, as in a run, from a fake with exactly its dataset's columns."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.errors import InputError
from ops.sources import hub
from ops.sources.hub import column_types
from ops.sources.pieces import check_source, pieces, read_piece, source_fingerprint
from ops.sources.presets import PRESETS
from ops.sources.rows import Broken, Row
from ops.sources.source import Piece, Source
from ops.sources.spec import parse_source
from tests.conftest import ROOT

COMMIT = "0" * 40
StandIn = Callable[..., Source]


def _labelled(table: pa.Table, column: str, names: list[str]) -> pa.Table:
    """Write the names of a class label into the schema, as `datasets` does in its Parquet files."""
    from datasets import ClassLabel, Features

    features = Features.from_arrow_schema(table.schema)
    features[column] = ClassLabel(names=names)
    return table.cast(features.arrow_schema)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Write a dataset's files into a folder and return the source that reads them in place of the hub's."""
    monkeypatch.setattr(hub, "commit_of", lambda spec: COMMIT)

    def make(spec: str, **files: pa.Table | str) -> Source:
        hub.open_splits.cache_clear()
        source = parse_source(spec)
        assert source.hub is not None
        folder = tmp_path / source.hub.name
        for name, content in files.items():
            path = folder / name.replace("__", "/")
            path = path.with_suffix(".jsonl" if isinstance(content, str) else ".parquet")
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.write_text(content)
            else:
                pq.write_table(content, path)
        return replace(source, hub=replace(source.hub, hub=str(folder)))

    return make


def _read(source: Source, **options: Any) -> list[Row | Broken]:
    check_source(source, **options)
    sent = [Piece(**json.loads(json.dumps(asdict(piece)))) for piece in pieces(source)]
    assert [piece.index for piece in sent] == list(range(len(sent)))
    return [row for piece in sent for row in read_piece(piece, **options)]


def _tweets(sentiments: list[int]) -> pa.Table:
    columns = {"text": [f"tweet {n}" for n in sentiments], "user": [f"user{n}" for n in sentiments]}
    other = {"date": ["Mon May 11 03:17:40 UTC 2009"] * len(sentiments), "query": ["NO_QUERY"] * len(sentiments)}
    return pa.table({**columns, **other, "sentiment": pa.array(sentiments, pa.int32())})


def _reviews(labels: list[int]) -> pa.Table:
    return pa.table({"text": [f"film {n}" for n in labels], "label": labels})


def _articles(text: list[str], topics: list[list[str] | None], new_id: list[str]) -> pa.Table:
    nothing = pa.array([[]] * len(text), pa.list_(pa.string()))
    return pa.table({"text": text, "topics": topics, "places": nothing, "date": [""] * len(text), "new_id": new_id})


# The files of presets' datasets, by their paths with two underscores for a slash, and the rows that they give.
FAKES: dict[str, tuple[dict[str, pa.Table], list[Row | Broken]]] = {
    "sentiment140": (
        {"sentiment140__train__0000": _tweets([0, 4]), "sentiment140__test__0000": _tweets([2])},
        [
            Row("tweet 0", "sentiment140:train:0:0", {"sentiment": "negative", "author": "user0"}),
            Row("tweet 4", "sentiment140:train:0:1", {"sentiment": "positive", "author": "user4"}),
            Row("tweet 2", "sentiment140:test:0:0", {"sentiment": "neutral", "author": "user2"}),
        ],
    ),
    "imdb": (
        {
            f"plain_text__{split}-00000-of-00001": _reviews(labels)
            for split, labels in (("train", [0, 1]), ("test", [1]), ("unsupervised", [-1]))
        },
        [
            Row("film 0", "imdb:train:0:0", {"sentiment": "negative"}),
            Row("film 1", "imdb:train:0:1", {"sentiment": "positive"}),
            Row("film 1", "imdb:test:0:0", {"sentiment": "positive"}),
            Row("film -1", "imdb:unsupervised:0:0", {}),
        ],
    ),
    "reuters": (
        {
            "ModApte__train__0000": _articles(
                ["Wheat rose.", "No topic here.", "A null."], [["wheat", "grain"], [], None], ['"1"', '"5"', '"6"']
            ),
            "ModApte__test__0000": _articles(["Gold fell."], [["gold"]], ['"14826"']),
        },
        [
            Row("Wheat rose.", "1", {"category": "wheat"}),
            Row("No topic here.", "5", {}),
            Row("A null.", "6", {}),
            Row("Gold fell.", "14826", {"category": "gold"}),
        ],
    ),
    "gutenberg": (
        {
            "data__train-00000-of-00001": pa.table(
                {
                    "etextno": [101, 102],
                    "book_title": ["A Walk", "The Well"],
                    "author": ["Doe, Jane", None],
                    "issued": ["2001-01-01", "2002-02-02"],
                    "context": ["It was late. We walked.", "Water is deep."],
                }
            )
        },
        [
            Row("It was late. We walked.", "101", {"author": "Doe, Jane", "title": "A Walk"}),
            Row("Water is deep.", "102", {"title": "The Well"}),
        ],
    ),
}


@pytest.mark.parametrize("name", FAKES)
def test_a_preset_gives_the_rows_of_its_dataset(stand_in: StandIn, name: str) -> None:
    files, rows = FAKES[name]
    source = stand_in(name, **files)
    assert source.dataset == name
    assert _read(source) == rows


def test_labels_may_have_names(stand_in: StandIn) -> None:
    files, rows = FAKES["imdb"]
    named = {path: _labelled(table, "label", ["neg", "pos"]) for path, table in files.items()}
    assert _read(stand_in("imdb", **named)) == rows


def test_a_dataset_that_lost_a_column_is_refused(stand_in: StandIn) -> None:
    whole = pa.table({"author": ["a"], "etextno": [1], "book_title": ["b"], "context": ["c"]})
    for lost in ("author", "etextno", "context"):
        files = {"data__train-00000-of-00001": whole.drop_columns([lost])}
        with pytest.raises(InputError, match=f"gutenberg: .*no column '{lost}'"):
            check_source(stand_in("gutenberg", **files))


def test_a_foreign_dataset_reads_like_parquet(stand_in: StandIn) -> None:
    table = pa.table(
        {
            "body": ["One.", None, "Two."],
            "doc_id": ["a", "a", None],
            "stars": [5, None, 1],
            "tags": [["x"], [], None],
            "author": [{"name": "J"}] * 3,
            "kind": [1, 0, -1],
        }
    )
    source = stand_in("hf:some/reviews", train=_labelled(table, "kind", ["play", "poem"]))
    assert source.dataset == "reviews"
    assert _read(source, text_column="body") == [
        Row("One.", "a", {"stars": "5", "kind": "poem"}),
        Broken("", "a", "empty"),
        Row("Two.", "reviews:train:0:2", {"stars": "1"}),
    ]
    with pytest.raises(InputError, match=r"hf:.*/reviews: no column 'text'; it has 'body'.*--text-column"):
        check_source(source)
    with pytest.raises(InputError, match="'stars' is int64, expected text"):
        check_source(source, "stars")


def test_configurations_and_splits(stand_in: StandIn, tmp_path: Path) -> None:
    card = """---
configs:
- config_name: one
  data_files:
  - {split: train, path: one/train.jsonl}
  - {split: test, path: one/test.jsonl}
- config_name: two
  data_files: two/*.jsonl
---
"""
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "README.md").write_text(card)
    files = {name: json.dumps({"text": name}) + "\n" for name in ("one__train", "one__test", "two__all")}

    def texts(spec: str) -> list[str]:
        return [row.text for row in _read(stand_in(spec, **files))]

    assert texts("hf:some/set:one") == ["one__train", "one__test"]
    assert texts("hf:some/set:one:test") == ["one__test"]
    assert texts("hf:some/set:two") == ["two__all"]
    for spec, said in {
        "hf:some/set": "one.*two",
        "hf:some/set:three": "three.*one.*two",
        "hf:some/set:one:dev": "no split 'dev'; it has train, test",
    }.items():
        with pytest.raises(InputError, match=rf"^--corpus hf:.*{said}"):
            check_source(stand_in(spec, **files))


def test_the_fingerprint_is_one_of_commit_and_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "commit_of", lambda spec: COMMIT)
    first = source_fingerprint(parse_source("imdb"))
    assert first == source_fingerprint(parse_source("other=imdb"))
    assert first != source_fingerprint(parse_source("hf:stanfordnlp/imdb"))
    changed = replace(PRESETS["imdb"], meta={})
    with monkeypatch.context() as patch:
        patch.setitem(PRESETS, "imdb", changed)
        assert source_fingerprint(parse_source("imdb")) != first
    monkeypatch.setattr(hub, "commit_of", lambda spec: "1" * 40)
    assert source_fingerprint(parse_source("imdb")) != first


def test_a_damaged_shard_fails_by_name_or_is_recorded(stand_in: StandIn, tmp_path: Path) -> None:
    table = pa.table({"text": [f"sentence {number}" for number in range(2000)]})
    source = stand_in("hf:some/set", train=table)
    path = tmp_path / "set" / "train.parquet"
    pq.write_table(table, path, row_group_size=500, use_dictionary=False, compression="GZIP")
    place = pq.read_metadata(path).row_group(2).column(0).data_page_offset
    content = path.read_bytes()
    path.write_bytes(content[: place + 40] + b"\xff" * 60 + content[place + 100 :])
    (piece,) = pieces(source)
    with pytest.raises(InputError, match=r"hf:.*: train, shard 0 of 1, after row \d+: .*--on-error reject"):
        list(read_piece(piece))
    rows = list(read_piece(piece, on_error="reject"))
    assert isinstance(rows[-1], Broken)
    assert rows[-1].reason == "broken"
    assert [row.text for row in rows[:-1]] == table["text"].to_pylist()[: len(rows) - 1]


def test_columns_of_a_stream_that_does_not_say(stand_in: StandIn) -> None:
    from datasets import IterableDataset

    spec = parse_source("hf:some/set").hub
    assert spec is not None
    stream = IterableDataset.from_generator(lambda: iter([{"text": "a", "n": 1}]))
    assert stream.features is None
    assert column_types(spec, stream) == {"text": pa.string(), "n": pa.int64()}


def test_the_hub_that_cannot_be_reached_is_one_line() -> None:
    hub.commit_of.cache_clear()
    with pytest.raises(
        InputError, match=r"--corpus imdb: the Hugging Face hub cannot be reached .*connection"
    ) as error:
        check_source(parse_source("imdb"))
    assert "\n" not in str(error.value)


def test_another_form_is_refused() -> None:
    for spec in ("hf:", "hf:imdb", "hf:a/b/c", "hf:a/b:c:d:e", "hf:a b/c", "n=hf:x/", "hf:/x"):
        with pytest.raises(InputError, match="is not of the form hf:ORG/NAME"):
            parse_source(spec)


def test_a_lost_connection_is_no_fault_of_the_data(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    source = stand_in("hf:some/set", train=pa.table({"text": ["a"] * 600}))
    (piece,) = pieces(source)
    stream = hub.open_splits(source.hub, COMMIT)["train"]  # type: ignore[arg-type]

    class Cut:
        features = stream.features

        def shard(self, **_: int) -> "Cut":
            return self

        def with_format(self, _: str) -> "Cut":
            return self

        def iter(self, batch_size: int) -> Any:
            yield pa.table({"text": ["a"] * batch_size})
            raise ConnectionResetError(104, "connection lost")

    monkeypatch.setattr("ops.sources.hub.open_splits", lambda *_: {"train": Cut()})
    rows = read_piece(piece, on_error="reject")
    assert isinstance(next(rows), Row)
    with pytest.raises(ConnectionResetError, match="connection lost"):
        list(rows)


def test_the_documentation_names_every_preset_as_it_is_and_each_is_pinned() -> None:
    text = (ROOT / "docs" / "corpora.md").read_text(encoding="utf-8")
    for name, preset in PRESETS.items():
        assert preset.revision == "refs/convert/parquet" or len(preset.revision) == 40
        columns = [preset.text, *(c.name for c in (preset.doc_id, *preset.meta.values()) if c)]
        lines = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
        assert preset.hub in lines[0]
        assert preset.revision in lines[0]
        assert all(column in lines[1].split("|")[2] for column in columns)
