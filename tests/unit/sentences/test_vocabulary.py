"""One list of names for all shards, however the sentences are split, and each shard's names among them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.sentences.codes import NAME_KINDS, coded, name_kinds, names_of
from ops.sentences.vocabulary import places, vocabulary, write_places, write_vocabulary
from tests.unit.small_corpus import random_sentences, to_table

SENTENCES = random_sentences(0, 60)
KINDS = name_kinds(["author", "topic"])


def parts(of: int) -> list[pa.Table]:
    """The names of shards of so many sentences, an empty one among them."""
    shards = [SENTENCES[i : i + of] for i in range(0, len(SENTENCES), of)]
    return [coded(to_table(shard, keys={"author", "topic"}))[1] for shard in ([], *shards)]


@pytest.mark.parametrize(("of", "together"), [(1, 10), (7, 0), (60, 1 << 21)])
def test_the_vocabulary_is_sorted_and_the_same_for_any_split(
    monkeypatch: pytest.MonkeyPatch, of: int, together: int
) -> None:
    monkeypatch.setattr("ops.sentences.vocabulary.TOGETHER", together)
    found = vocabulary(reversed(parts(of)), KINDS)
    assert found["word"].to_pylist() == sorted({w for s in SENTENCES for w in s.words})
    assert found["tag"].to_pylist() == sorted({t for s in SENTENCES for t in s.tags or []})
    assert found["dataset"].to_pylist() == sorted({s.dataset for s in SENTENCES})
    assert found["meta:topic"].to_pylist() == sorted({s.meta["topic"] for s in SENTENCES if "topic" in s.meta})
    assert list(found) == KINDS


@pytest.mark.parametrize("together", [1 << 21, 10, 0])
def test_places_lead_from_a_shard_s_codes_to_the_names_of_all(
    monkeypatch: pytest.MonkeyPatch, together: int, tmp_path: Path
) -> None:
    monkeypatch.setattr("ops.sentences.vocabulary.TOGETHER", together)
    every = vocabulary(parts(7), KINDS)
    found = pa.concat_tables(places(parts(7), every))
    assert found.num_rows == len(parts(7))
    for part, row in zip(parts(7), found.to_pylist(), strict=True):
        for kind in KINDS:
            names = every[kind].to_pylist()
            assert [names[code] for code in row[kind]] == names_of(part, kind).to_pylist()
    write_places(parts(7), every, tmp_path / "p", {})
    with pq.ParquetFile(tmp_path / "p") as file:
        assert file.num_row_groups == len(parts(7))
        assert file.read_row_group(3).to_pylist() == found.slice(3, 1).to_pylist()


def test_groups_of_the_vocabulary_s_file_hold_one_kind_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.sentences.vocabulary.GROUP_ROWS", 2)
    every = vocabulary(parts(60), KINDS)
    write_vocabulary(every, tmp_path / "v", {b"a": b"b"})
    with pq.ParquetFile(tmp_path / "v") as file:
        groups = [file.read_row_group(i) for i in range(file.num_row_groups)]
        assert file.metadata.metadata[b"a"] == b"b"
    assert all(len(set(g["kind"].to_pylist())) == 1 and g.num_rows <= 2 for g in groups)
    whole = pa.concat_tables(groups)
    assert {kind: names_of(whole, kind).to_pylist() for kind in KINDS} == {k: v.to_pylist() for k, v in every.items()}
    every = vocabulary([], list(NAME_KINDS))
    assert [len(own) for own in every.values()] == [0] * len(NAME_KINDS)
    assert list(places([], every)) == []
    write_vocabulary(every, tmp_path / "v", {})
    assert pq.read_table(tmp_path / "v").num_rows == 0
