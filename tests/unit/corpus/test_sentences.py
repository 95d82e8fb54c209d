import hashlib
import unicodedata
from typing import cast

import numpy as np
import pyarrow as pa

from ops.corpus.sentences import (
    MOST_CHARACTERS,
    REJECT_CHARACTERS,
    REJECTS,
    SENTENCES,
    Block,
    SentenceFilter,
    hashes,
    make_splitter,
)
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer, Tokens
from ops.sources.rows import Broken, Row

CUT = 6


class FakeTokenizer:
    """Makes each word a token, knows all words but `?`, adds one token at each end, and cuts at six."""

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


def filtered(rows: list[Row | Broken], split: bool = True) -> Block:
    sentence_filter = SentenceFilter(cast(Tokenizer, FakeTokenizer()), FakeSplitter() if split else None)
    blocks = list(sentence_filter.blocks(rows))
    assert sentence_filter.rows == len(rows)
    assert all(b.sentences.schema.equals(SENTENCES) and b.rejects.schema.equals(REJECTS) for b in blocks)
    return Block(
        pa.concat_tables(b.sentences for b in blocks),
        pa.concat_tables(b.rejects for b in blocks),
        *(np.concatenate(columns) for columns in list(zip(*blocks, strict=True))[2:]),
    )


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
    found = filtered(rows)
    assert column(found.sentences, "text", "doc_id", "run", "place", "n_tokens", "cut") == [
        ("one two three", "a", 0, 0, 5, False),
        ("four five six seven eight nine", "a", 0, 1, 6, True),
        ("?a ?b c", "b", 1, 2, 5, False),
        ("ten eleven twelve", "a", 2, 0, 5, False),
    ]
    assert column(found.rejects, "text", "doc_id", "reason") == [
        ("x", "a", "too_short"),
        ("bad \ufffd", "b", "invalid_text"),
        ("?a ?b ?c", "b", "unknown_tokens"),
        ("", "c", "empty"),
    ]
    assert found.sentences["meta"].to_pylist() == [[("k", "v")], [("k", "v")], [], []]
    assert found.lengths.tolist() == [3, 3, 1, 1]
    assert (found.documents == hashes(["a", "b", "a", "c"])).all()


def test_the_document_of_a_broken_row_may_be_invalid() -> None:
    found = filtered([Broken("(image)", "a\ud800", "not_text")])
    assert column(found.rejects, "text", "doc_id", "reason") == [("(image)", "a\ufffd", "not_text")]
    assert (found.documents == hashes(["a\ufffd"])).all()


def test_equal_texts_have_equal_hashes_over_128_bits() -> None:
    found = filtered([Row("a b c|a  b c|a b d", "d", {})])
    pairs = found.hashes.tolist()
    assert pairs[0] == pairs[1] != pairs[2]
    digest = hashlib.blake2b(b"a b c", digest_size=16).digest()
    assert b"".join(half.to_bytes(8, "little") for half in pairs[0]) == digest


def test_without_a_splitter_a_row_is_a_sentence_and_its_symbols_stay() -> None:
    rows: list[Row | Broken] = [Row("  wait !!! !!!\tfor\u00a0it\nnow ", "d", {}), Row("e f g|h i j", "d", {})]
    found = filtered(rows)
    assert column(found.sentences, "text") == [("wait ! ! for it now",), ("e f g",), ("h i j",)]
    found = filtered(rows, split=False)
    assert column(found.sentences, "text", "run", "place") == [
        ("wait !!! !!! for it now", 0, 0),
        ("e f g|h i j", 0, 1),
    ]
    assert found.rejects.num_rows == 0


def test_windows_keep_their_white_space_and_symbols() -> None:
    tokenizer = Tokenizer(read_facts("sample"))
    text = "if x:\n    return  '...'  # cafe\u0301\n" * 3
    rows: list[Row | Broken] = [Row(text, "d", {}), Row(" \u200b ", "e", {}), Row("a\tb", "f", {})]
    (block, _) = SentenceFilter(tokenizer, make_splitter("tokens:12", tokenizer)).blocks(rows)
    assert "".join(block.sentences["text"].to_pylist()) == unicodedata.normalize("NFC", text)
    assert column(block.sentences, "run", "place") == [(0, place) for place in range(block.sentences.num_rows)]
    assert max(block.sentences["n_tokens"].to_pylist()) <= 14
    assert column(block.rejects, "text", "reason") == [(" \u200b ", "too_short"), ("a\tb", "too_short")]


def test_rejects_are_cut_and_sentences_are_not() -> None:
    long = "w" * 300
    found = filtered([Row(f"{long} b|{long} b c", "d", {})])
    assert [len(text) for text in found.rejects["text"].to_pylist()] == [REJECT_CHARACTERS]
    assert [len(text) for text in found.sentences["text"].to_pylist()] == [304]


def test_long_sources_come_in_blocks_and_only_good_text_is_tokenized() -> None:
    tokenizer = FakeTokenizer()
    sentence_filter = SentenceFilter(cast(Tokenizer, tokenizer), None)
    rows: list[Row | Broken] = [Row(f"a b {i}", "d", {}) if i % 3 else Broken("", "d", "empty") for i in range(5000)]
    blocks = list(sentence_filter.blocks(iter(rows)))
    assert [b.sentences.num_rows + b.rejects.num_rows for b in blocks] == [2048, 2048, 904, 0]
    whole = pa.concat_tables(b.sentences for b in blocks)
    assert whole["place"].to_pylist() == [i for i in range(5000) if i % 3]
    assert whole.num_rows == sum(map(len, tokenizer.asked)) == 3333
    assert [b.lengths.tolist() for b in blocks] == [[], [], [], [5000]]
    assert list(SentenceFilter(cast(Tokenizer, tokenizer), None).blocks([])) == []


def test_a_block_of_very_long_rows_holds_few() -> None:
    sentence_filter = SentenceFilter(cast(Tokenizer, FakeTokenizer()), None)
    rows: list[Row | Broken] = [Row("a b c " * 600_000, str(i), {}) for i in range(4)]
    assert [b.sentences.num_rows for b in sentence_filter.blocks(rows)] == [3, 1, 0]


def test_a_row_that_is_too_long_is_rejected_before_it_is_split() -> None:
    long = "one two three " * (MOST_CHARACTERS // 14 + 1)
    assert len(long) > MOST_CHARACTERS
    found = filtered([Row("a b c d", "x", {}), Row(long, "y", {"k": "v"}), Row("e f g h", "z", {})])
    assert column(found.rejects, "text", "doc_id", "reason") == [(long[:200], "y", "too_long")]
    assert column(found.sentences, "text", "doc_id") == [("a b c d", "x"), ("e f g h", "z")]
    assert found.lengths.tolist() == [1, 1, 1]
