from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.corpus.corpus_tokens import CorpusTokens, KeptTokens, kept_table, shard_name, token_columns, write_kept
from ops.model.tokenizer import Tokenizer, Tokens
from ops.storage.store import Store, shard_footer
from ops.storage.tables import part_name

FIRST, COUNT, LIMIT = 300, 90, 12
KEPT = KeptTokens("kept", "f")


class Letters:
    """Makes each letter a token, adds one at each end, and cuts at `LIMIT`."""

    def encode(self, texts: list[str]) -> list[Tokens]:
        found = []
        for text in texts:
            ids = [1, *map(ord, text[: LIMIT - 2]), 2]
            found.append(Tokens(ids, [1, *[0] * (len(ids) - 2), 1], len(text) > LIMIT - 2))
        return found


def letters() -> Tokenizer:
    return cast(Tokenizer, Letters())


def nobody() -> Tokenizer:
    raise AssertionError("tokenized again")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The fourth shard of a corpus, in row groups of 20 sentences, and its tokens."""
    monkeypatch.setattr("ops.corpus.corpus_tokens.GROUP_ROWS", 30)
    rng = np.random.default_rng(0)
    texts = ["".join(chr(97 + i) for i in rng.integers(0, 26, rng.integers(1, 16))) for _ in range(COUNT)]
    tokens = Letters().encode(texts)
    assert {t.cut for t in tokens} == {True, False}
    ids = pa.array(np.arange(FIRST, FIRST + COUNT))
    lengths = pa.array([len(t.ids) for t in tokens], pa.int32())
    found = Store(str(tmp_path))
    corpus = pa.table({"sent_id": ids, "text": texts, "n_tokens": lengths})
    found.commit(part_name("corpus", 3), lambda path: pq.write_table(corpus, path, row_group_size=20))
    table = kept_table(pa.table({"sent_id": ids, **token_columns(tokens)}), 130)
    table = table.replace_schema_metadata(shard_footer("f", shard_name(3), COUNT))
    found.commit(part_name("kept", 3), lambda path: write_kept(table, path))
    return found


SOME = [np.arange(FIRST, FIRST + COUNT), np.array([FIRST, FIRST + 41, FIRST + COUNT - 1]), np.zeros(0, np.int64), None]


def test_kept_tokens_are_those_of_the_tokenizer(store: Store) -> None:
    kept, anew = CorpusTokens(store, KEPT, nobody), CorpusTokens(store, None, letters)
    for some in SOME:
        (ids, block), (other_ids, other) = kept.read(3, some), anew.read(3, some)
        assert ids.tolist() == other_ids.tolist() == (SOME[0] if some is None else some).tolist()
        assert list(block) == list(other)
        for equal_lengths, budget in product((False, True), (1, 200)):
            batches = kept.batches(3, budget, equal_lengths, some)
            expected = anew.batches(3, budget, equal_lengths, some)
            for (own, tokens), (wanted, others) in zip(batches, expected, strict=True):
                assert own.tolist() == wanted.tolist()
                assert list(tokens) == list(others)
                assert tokens.ids.dtype == others.ids.dtype
                assert tokens.offsets.tolist() == others.offsets.tolist()


def _flip(store: Store) -> None:
    """Change a byte of the first page of ids."""
    path = Path(store.path(part_name("kept", 3)))
    page = pq.read_metadata(path).row_group(0).column(1)
    data = bytearray(path.read_bytes())
    data[(page.dictionary_page_offset or page.data_page_offset) + page.total_compressed_size // 2] ^= 0xFF
    path.write_bytes(data)


def _relabel(store: Store, footer: dict[bytes, bytes]) -> None:
    path = store.path(part_name("kept", 3))
    write_kept(pq.read_table(path).replace_schema_metadata(footer), path)


LOST: dict[str, Callable[[Store], object]] = {
    "gone": lambda store: store.delete("kept"),
    "damaged": _flip,
    "of another shard": lambda store: _relabel(store, shard_footer("f", shard_name(4), COUNT)),
    "of another ingest": lambda store: _relabel(store, shard_footer("another", shard_name(3), COUNT)),
}


@pytest.mark.parametrize("lost", LOST)
def test_what_is_not_whole_is_tokenized_again(store: Store, lost: str) -> None:
    expected = list(CorpusTokens(store, KEPT, nobody).read(3)[1])
    LOST[lost](store)
    with pytest.raises(AssertionError, match="tokenized again"):
        CorpusTokens(store, KEPT, nobody).read(3)
    found = CorpusTokens(store, KEPT, letters)
    assert list(found.read(3)[1]) == expected
    assert sum(len(ids) for ids, _ in found.batches(3, 64)) == COUNT
