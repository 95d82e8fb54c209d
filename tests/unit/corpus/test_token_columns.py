from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.corpus.corpus_tokens import TOKEN_COLUMNS, block_of, kept_table, token_columns, write_kept
from ops.model.tokenizer import Tokens

SENTENCES = st.lists(
    st.builds(
        lambda pairs, cut: Tokens([i for i, _ in pairs], [int(a) for _, a in pairs], cut),
        st.lists(st.tuples(st.integers(0, 300_000), st.booleans()), max_size=6),
        st.booleans(),
    ),
    max_size=9,
)


def shard(sentences: list[Tokens], first: int = 0) -> pa.Table:
    """Sentences as ingest writes them, with one more column."""
    columns = {"sent_id": pa.array(np.arange(first, first + len(sentences))), "n": pa.nulls(len(sentences))}
    return pa.table({**columns, **token_columns(sentences)})


@given(SENTENCES, st.integers(0, 9), st.integers(0, 9))
def test_sentences_come_back_as_they_were(sentences: list[Tokens], cut: int, start: int) -> None:
    table = shard(sentences)
    assert table.select(TOKEN_COLUMNS.names).schema.equals(TOKEN_COLUMNS)
    # As ingest joins and cuts what it reads of several pieces.
    pieces = pa.concat_tables([table.slice(0, cut), table.slice(cut), table.slice(start, cut)])
    assert list(block_of(pieces)) == sentences + sentences[start : start + cut]
    assert list(block_of(kept_table(pieces, 300_000))) == sentences + sentences[start : start + cut]


def test_ids_take_two_bytes_where_the_vocabulary_fits(tmp_path: Path) -> None:
    for highest_id, kind in ((65_535, pa.uint16()), (65_536, pa.uint32())):
        sentences = [Tokens([0, highest_id, 7], [1, 0, 1], False), Tokens([highest_id], [0], True)]
        table = kept_table(shard(sentences, 40), highest_id)
        write_kept(table, str(tmp_path / "a.parquet"))
        found = pq.read_table(tmp_path / "a.parquet")
        assert found.column_names == ["sent_id", *TOKEN_COLUMNS.names]
        assert found.schema.field("ids").type.value_type == kind
        assert found["sent_id"].to_pylist() == [40, 41]
        assert list(block_of(found)) == sentences
        assert (block_of(found).ids.dtype, block_of(found).added.dtype) == (np.int32, np.bool_)
    with pytest.raises(pa.ArrowInvalid):
        kept_table(shard([Tokens([65_536], [0], False)]), 65_535)
