import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.corpus.meta import MAX_KEYS, META_MAP, check_keys, meta_structs
from ops.errors import InputError

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)


@given(st.lists(st.lists(st.dictionaries(names, names, max_size=4), max_size=4), max_size=3), st.integers(0, 2))
def test_structs_hold_what_the_maps_held(chunks: list[list[dict[str, str]]], start: int) -> None:
    keys = sorted({"always"} | {key for chunk in chunks for meta in chunk for key in meta})
    maps = pa.chunked_array([pa.array(chunk, META_MAP).slice(start) for chunk in chunks], META_MAP)
    found = meta_structs(maps, keys)
    assert [field.name for field in found.type] == keys
    assert found.to_pylist() == [{key: meta.get(key) for key in keys} for chunk in chunks for meta in chunk[start:]]
    assert found.null_count == 0


def test_any_name_goes_through_parquet(tmp_path) -> None:  # type: ignore[no-untyped-def]
    meta = {"": "empty", "a.b": "dot", 'q"': "quote", "ü 😀": "wide", "list": "x", "\n": "line"}
    check_keys(meta, "x")
    table = pa.table({"meta": meta_structs(pa.chunked_array([[meta]], META_MAP), sorted(meta))})
    pq.write_table(table, tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet")["meta"].to_pylist() == [meta]


def test_too_many_keys_and_those_that_differ_in_case_alone_are_named() -> None:
    check_keys([f"k{i:03d}" for i in range(MAX_KEYS)], "x")
    with pytest.raises(InputError, match=r"^big\.jsonl: has more than 200 metadata keys \(k000, k001, "):
        check_keys([f"k{i:03d}" for i in range(MAX_KEYS + 1)], "big.jsonl")
    with pytest.raises(InputError, match=r"^a\.csv: the metadata keys 'Topic' and 'topic' differ only in case"):
        check_keys(["author", "topic", "Topic"], "a.csv")
