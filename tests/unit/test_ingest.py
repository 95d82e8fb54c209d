import hashlib
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ops.ingest import BLOCK_SCHEMA, REJECT_CHARACTERS, Judge
from ops.rows import Broken, Row
from ops.tokens import Tokenizer, Tokens

CUT = 6


class FakeTokenizer:
    """A token a word, `?` words unknown, one token added at each end, cut at six."""

    unknown_id = 1

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, texts: list[str]) -> list[Tokens]:
        self.asked.append(texts)
        return [self._one(text.split()) for text in texts]

    def _one(self, words: list[str]) -> Tokens:
        ids = [2, *(1 if w.startswith("?") else 10 for w in words), 3]
        added = [1, *[0] * len(words), 1]
        return Tokens(ids[:CUT], added[:CUT], len(ids) > CUT)


class FakeSplitter:
    """Cuts at bars."""

    def split(self, text: str) -> list[str]:
        return [part for part in text.split("|") if part.strip()]


def judged(rows: list[Row | Broken], split: bool = True) -> pa.Table:
    judge = Judge(cast(Tokenizer, FakeTokenizer()), FakeSplitter() if split else None)
    blocks = list(judge.blocks(rows))
    assert judge.rows == len(rows)
    assert all(block.schema.equals(BLOCK_SCHEMA) for block in blocks)
    return pa.concat_tables([BLOCK_SCHEMA.empty_table(), *blocks])


def column(table: pa.Table, *names: str) -> list[tuple[object, ...]]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def test_reasons_places_and_counts() -> None:
    rows = [
        Row("one two three|four five six seven eight nine|x", "a", {"k": "v"}),
        Broken("bad \ufffd", "b", "invalid_text"),
        Row("?a ?b ?c|?a ?b c", "b", {}),
        Row("ten eleven twelve", "a", {}),
        Row("|", "c", {}),
    ]
    found = judged(rows)
    assert column(found, "text", "doc_id", "sent_in_doc", "n_tokens", "cut", "reason") == [
        ("one two three", "a", 0, 5, False, None),
        ("four five six seven eight nine", "a", 1, 6, True, None),
        ("x", "a", 2, 3, False, "too_short"),
        ("bad \ufffd", "b", 0, 0, False, "invalid_text"),
        ("?a ?b ?c", "b", 1, 5, False, "unknown_tokens"),
        ("?a ?b c", "b", 2, 5, False, None),
        ("ten eleven twelve", "a", 3, 5, False, None),
        ("", "c", 0, 0, False, "empty"),
    ]
    assert found["meta"].to_pylist()[:4] == [[("k", "v")], [("k", "v")], [("k", "v")], []]


def test_equal_texts_have_equal_hashes_over_128_bits() -> None:
    found = judged([Row("a b c|a  b c|a b d", "d", {})])
    pairs = column(found, "hash_high", "hash_low")
    assert pairs[0] == pairs[1] != pairs[2]
    digest = hashlib.blake2b(b"a b c", digest_size=16).digest()
    assert b"".join(int(half).to_bytes(8, "little") for half in pairs[0]) == digest  # type: ignore[call-overload]


@pytest.mark.parametrize(("split", "kept"), [(True, "wait ! ! for it now"), (False, "wait !!! !!! for it now")])
def test_white_space_is_normalized_and_repeated_symbols_only_where_text_is_split(split: bool, kept: str) -> None:
    found = judged([Row("  wait !!! !!!\tfor\u00a0it\nnow ", "d", {})], split)
    assert column(found, "text", "reason") == [(kept, None)]


def test_without_a_splitter_a_row_is_a_sentence() -> None:
    found = judged([Row("a b|c d", "d", {}), Row("e f g", "d", {})], split=False)
    assert column(found, "text", "sent_in_doc") == [("a b|c d", 0), ("e f g", 1)]


def test_rejects_are_cut_and_sentences_are_not() -> None:
    long = "w" * 300
    found = judged([Row(f"{long} b|{long} b c", "d", {})])
    lengths = [len(text) for text in found["text"].to_pylist()]
    assert lengths == [REJECT_CHARACTERS, 304]


def test_long_sources_come_in_blocks_and_only_good_text_is_tokenized() -> None:
    tokenizer = FakeTokenizer()
    judge = Judge(cast(Tokenizer, tokenizer), None)
    rows: list[Row | Broken] = [Row(f"a b {i}", "d", {}) if i % 3 else Broken("", "d", "empty") for i in range(5000)]
    blocks = list(judge.blocks(iter(rows)))
    assert [b.num_rows for b in blocks] == [2048, 2048, 904]
    whole = pa.concat_tables(blocks)
    assert whole["sent_in_doc"].to_pylist() == list(range(5000))
    assert pc.sum(pc.is_null(whole["reason"])).as_py() == sum(map(len, tokenizer.asked)) == 3333
    assert list(Judge(cast(Tokenizer, tokenizer), None).blocks([])) == []
