"""Conversion of a source's rows to sentences, block by block: split, clean, tokenize, and reject unusable ones."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ops.arrays import Int64s, UInt64s
from ops.corpus.corpus_tokens import TOKEN_COLUMNS, token_columns
from ops.corpus.meta import META_MAP
from ops.corpus.split_sentences import SentenceSplitter
from ops.corpus.token_windows import TokenWindows, window_size
from ops.model.tokenizer import Tokenizer, Tokens
from ops.sources.rows import Broken, Row, printable

MIN_TOKENS = 3
REJECT_CHARACTERS = 200
MOST_CHARACTERS = 1 << 22  # maximum of a row; splitting a longer row takes unbounded memory
_RUN = re.compile(r"([!@#$%^&*()_+\-=\[\]{};:?,.])\1+")
_BLOCK = 2_048  # sentences
_BLOCK_CHARACTERS = 1 << 23  # limits a block even if its rows have 10 MB

Splitter = SentenceSplitter | TokenWindows

# `run` is the index within a piece of a block of consecutive rows of one document; `place` is the index of a sentence
# within this block.
SENTENCES = pa.schema(
    [
        ("text", pa.string()),
        ("doc_id", pa.string()),
        ("meta", META_MAP),
        ("run", pa.int64()),
        ("place", pa.int32()),
        ("n_tokens", pa.int32()),
        *TOKEN_COLUMNS,
    ]
)
REJECTS = pa.schema([("doc_id", pa.string()), ("text", pa.string()), ("reason", pa.string())])


class Block(NamedTuple):
    """Some sentences in the order of their rows.

    Attributes:
        sentences: the usable sentences, with the schema `SENTENCES`.
        rejects: the rejected sentences with the reason, with the schema `REJECTS`.
        hashes: the hashes of the usable texts, `[sentences, 2]` uint64.
        documents: the doc_id hashes of the document runs that ended in this block, `[runs, 2]` uint64, in order. A
            document run is a range of consecutive rows of one document.
        lengths: number of sentences of each of these document runs, including rejected ones, `[runs]` int64.
    """

    sentences: pa.Table
    rejects: pa.Table
    hashes: UInt64s
    documents: UInt64s
    lengths: Int64s


class _Sentence(NamedTuple):
    text: str
    doc_id: str
    meta: dict[str, str]
    reason: str | None


class _Usable(NamedTuple):
    sentence: _Sentence
    tokens: Tokens
    run: int
    place: int


class SentenceFilter:
    """Turns rows into blocks of usable sentences and of rejected sentences with the reason.

    Only one block is in memory, for any number of rows and documents.

    Attributes:
        rows: number of rows read.
        characters: number of characters read, including line ends; for broken rows only their start is counted.
        keys: the metadata keys of the rows.

    Args:
        tokenizer: the model's tokenizer.
        splitter: cuts rows into sentences, or into windows, which keep their white space and symbols; None if a row
            is already a sentence, which then keeps its symbols.
    """

    def __init__(self, tokenizer: Tokenizer, splitter: Splitter | None) -> None:
        self.tokenizer, self.splitter = tokenizer, splitter
        self.rows = self.characters = 0
        self.keys: set[str] = set()
        self._document: str | None = None
        self._run = -1
        self._place = 0

    def blocks(self, rows: Iterable[Row | Broken]) -> Iterator[Block]:
        """Yield the sentences of `rows` in blocks; the last block may contain only the end of the last document run."""
        waiting: list[_Sentence] = []
        characters = 0
        for row in rows:
            self.rows += 1
            self.characters += len(row.text) + 1
            for sentence in self._sentences(row):
                waiting.append(sentence)
                characters += len(sentence.text)
                if len(waiting) == _BLOCK or characters > _BLOCK_CHARACTERS:
                    yield self._block(waiting)
                    waiting, characters = [], 0
        if waiting:
            yield self._block(waiting)
        if self._document is not None:
            yield _block_of([], [], [(self._document, self._place)])
            self._document = None

    def _sentences(self, row: Row | Broken) -> Iterator[_Sentence]:
        if isinstance(row, Broken):
            yield _Sentence(row.text, printable(row.doc_id), {}, row.reason)
            return
        if len(row.text) > MOST_CHARACTERS:
            yield _Sentence(row.text[:REJECT_CHARACTERS], row.doc_id, {}, "too_long")
            return
        self.keys.update(row.meta)
        whole = clean(row.text, self.splitter) if isinstance(self.splitter, TokenWindows) else row.text
        texts = [clean(piece, self.splitter) for piece in (self.splitter.split(whole) if self.splitter else [whole])]
        for text in texts or [""]:
            yield _Sentence(text, row.doc_id, row.meta, "empty" if not text or text.isspace() else None)

    def _block(self, sentences: list[_Sentence]) -> Block:
        encoded = iter(self.tokenizer.encode([sentence.text for sentence in sentences if sentence.reason is None]))
        usable: list[_Usable] = []
        rejects: list[_Sentence] = []
        ended: list[tuple[str, int]] = []
        for sentence in sentences:
            if sentence.doc_id != self._document:
                if self._document is not None:
                    ended.append((self._document, self._place))
                self._document, self._place = sentence.doc_id, 0
                self._run += 1
            tokens = next(encoded) if sentence.reason is None else None
            reason = sentence.reason if tokens is None else self._reject_reason(tokens)
            if tokens is not None and reason is None:
                usable.append(_Usable(sentence, tokens, self._run, self._place))
            else:
                rejects.append(sentence._replace(text=sentence.text[:REJECT_CHARACTERS], reason=reason))
            self._place += 1
        return _block_of(usable, rejects, ended)

    def _reject_reason(self, tokens: Tokens) -> str | None:
        if len(tokens.ids) - sum(tokens.added) < MIN_TOKENS:
            return "too_short"
        return "unknown_tokens" if has_only_unknown(tokens, self.tokenizer.unknown_id) else None


def has_only_unknown(tokens: Tokens, unknown: int | None) -> bool:
    """Return whether all tokens that the tokenizer did not add are the unknown token, which has the id `unknown`."""
    if unknown is None or unknown not in tokens.ids:
        return False
    return all(i == unknown for i, added in zip(tokens.ids, tokens.added, strict=True) if not added)


def make_splitter(split: str, tokenizer: Tokenizer) -> Splitter | None:
    """Return the splitter for a value of `--split`: `sentences`, `none` or `tokens:N`.

    Raises:
        InputError: the model cannot read windows of this size.
    """
    size = window_size(split)
    if size is not None:
        return TokenWindows(tokenizer, size)
    return SentenceSplitter() if split == "sentences" else None


def normalize(text: str) -> str:
    """Return the text in NFC, with consecutive white space replaced by one space and none at the ends.

    >>> normalize("  cafe\\u0301\\tau\\n lait ")
    'café au lait'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def collapse_symbols(text: str) -> str:
    """Return the text with repetitions of one of the symbols ``!@#$%^&*()_+-=[]{};:?,.`` reduced to a single symbol.

    >>> collapse_symbols("Wait...  what?!?! -- no")
    'Wait.  what?!?! - no'
    """
    return _RUN.sub(r"\1", text)


def clean(text: str, splitter: Splitter | None) -> str:
    """Return a text as it is stored that a splitter has cut off, or (None) that is a row."""
    if splitter is None:
        return normalize(text)
    if isinstance(splitter, TokenWindows):
        return unicodedata.normalize("NFC", text)
    return normalize(collapse_symbols(normalize(text)))


def hashes(texts: list[str]) -> UInt64s:
    """Return the 128-bit hashes of some texts as two numbers each, `[texts, 2]` uint64 (BLAKE2b)."""
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts)
    return np.frombuffer(digests, np.uint64).reshape(-1, 2)


def _block_of(usable: list[_Usable], rejects: list[_Sentence], ended: list[tuple[str, int]]) -> Block:
    columns = {
        "text": [row.sentence.text for row in usable],
        "doc_id": [row.sentence.doc_id for row in usable],
        "meta": pa.array([row.sentence.meta for row in usable], META_MAP),
        "run": [row.run for row in usable],
        "place": [row.place for row in usable],
        "n_tokens": [len(row.tokens.ids) for row in usable],
        **token_columns([row.tokens for row in usable]),
    }
    gone = {name: [getattr(sentence, name) for sentence in rejects] for name in REJECTS.names}
    return Block(
        pa.table(columns, schema=SENTENCES),
        pa.table(gone, schema=REJECTS),
        hashes(columns["text"]),
        hashes([document for document, _ in ended]),
        np.array([length for _, length in ended], np.int64),
    )
