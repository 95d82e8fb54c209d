"""Conversion of text to model tokens, truncated at the model's limit, with added special tokens marked."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ops.errors import InputError
from ops.model.locate import tokenizer_place
from ops.model.names import ModelFacts
from ops.model.transformers_calls import ModelError, naming, quiet_transformers, refusing
from ops.sampling import MASKING

FAR = 1.5  # tokens of a BPE or Unigram tokenizer are within a few percent of the longest that its vocabulary has
_COUNTED = 20_000  # tokens that are counted
_ONE_CHARACTER = re.compile(r"(##|Ġ|▁)?.?(</w>)?|<0x[0-9A-F]{2}>", re.DOTALL)


class Tokens(NamedTuple):
    """One sentence's tokens: their ids, which of them the tokenizer added, and how many were cut off at the limit."""

    ids: list[int]
    added: list[int]
    cut: int


class PlacedTokens(NamedTuple):
    """One sentence's tokens, their strings, and their positions in the text.

    Attributes:
        tokens: the token ids, and which of them the tokenizer added.
        strings: the tokens' strings in the vocabulary.
        spans: `(start, end)` of each token in characters of the text. A token that the tokenizer added has None; all
            tokens have None if the tokenizer reports no positions.
    """

    tokens: Tokens
    strings: list[str]
    spans: list[tuple[int, int] | None]


def mask_tokens(
    tokens: Tokens, rate: float, mask_id: int, spared: frozenset[int], seed: int, sent_id: int, at_least_one: bool
) -> Tokens:
    """Return a sequence in which a seeded random choice of tokens is replaced by the mask token (Kobayashi 2021: 12 %).

    If n tokens may be masked, floor(rate n + u) of them are masked, with u uniform between 0 and 1. So the share is
    `rate` on average, even for short sequences. The choice depends only on the seed and the sequence's first sentence.

    Args:
        rate: the share of tokens to mask.
        mask_id: the id of the mask token.
        spared: the ids that are never masked. Tokens that the tokenizer added are never masked either.
        sent_id: id of the sequence's first sentence.
        at_least_one: whether to mask at least one token, as the published code does; in a short sentence this is far
            over 12 %.
    """
    maskable = [i for i, (t, a) in enumerate(zip(tokens.ids, tokens.added, strict=True)) if not a and t not in spared]
    if not rate or not maskable:
        return tokens
    rng = np.random.default_rng([seed, MASKING, sent_id])
    count = max(int(rate * len(maskable) + rng.random()), int(at_least_one))
    ids = list(tokens.ids)
    for index in rng.choice(maskable, min(count, len(maskable)), replace=False).tolist():
        ids[index] = mask_id
    return tokens._replace(ids=ids)


class Tokenizer:
    """A model's own tokenizer, which truncates only at the model's limit of positions and never pads.

    Special tokens that are typed in a text, such as `[SEP]`, are text.

    Attributes:
        fingerprint: the sha256 of the tokenizer's vocabulary, rules and limit; the model's name does not affect it.

    Raises:
        InputError: the model's directory contains no tokenizer that can be loaded.
    """

    def __init__(self, facts: ModelFacts) -> None:
        from transformers import AutoTokenizer

        with naming(facts.name):
            advice = "put the tokenizer's files next to config.json"
            with quiet_transformers(), refusing("its tokenizer cannot be loaded", advice):
                path, options = tokenizer_place(facts.location)
                self._own: Any = AutoTokenizer.from_pretrained(path, **options)
            self._check_vocabulary(facts.vocabulary)
        self.limit = facts.position_limit
        self.unknown_id: int | None = self._own.unk_token_id
        self.pad_id: int = self._own.pad_token_id or 0
        self.mask_id: int | None = self._own.mask_token_id
        self.cls_id: int | None = self._own.cls_token_id
        self.sep_id: int | None = self._own.sep_token_id
        self.start_id: int | None = self._own.bos_token_id
        self._own.split_special_tokens = True  # [SEP] that is typed in a text is text
        self._fast = self._own.backend_tokenizer if self._own.is_fast else None
        if self._fast is None:
            rules = json.dumps([type(self._own).__name__, sorted(self._own.get_vocab().items())])
        else:
            self._fast.no_padding()
            self._fast.no_truncation()
            rules = self._fast.to_str()
            self._fast.enable_truncation(self.limit)
            self._split_special_tokens()
        self.fingerprint = hashlib.sha256(f"{self.limit}\n{rules}".encode()).hexdigest()

    def _check_vocabulary(self, rows: int) -> None:
        """Refuse a tokenizer that does not belong to the model.

        It has special tokens alone (transformers creates such a tokenizer if there is none), or ids beyond the `rows`
        of the model's table of token embeddings.
        """
        whole = self._own.get_vocab()  # some tokenizers rebuild it at each call
        if not set(whole) - set(self._own.all_special_tokens):
            raise ModelError(
                "its tokenizer cannot be loaded (its vocabulary has only special tokens); put the tokenizer's files "
                "(tokenizer.json, or the vocabulary) next to config.json"
            )
        # Added tokens are ignored: even if the model has no rows for them, they may never occur.
        highest = max((whole[token] for token in whole.keys() - self._own.get_added_vocab().keys()), default=0)
        if 0 < rows <= highest:
            raise ModelError(
                f"its tokenizer's ids reach {highest:,}, its table of token embeddings has {rows:,} rows; put the "
                "model's own tokenizer next to config.json"
            )

    def _split_special_tokens(self) -> None:
        """Make the fast tokenizer read special tokens that are typed in a text as text.

        Some vocabularies (Unigram, word-level) contain special tokens as if they were words. Then a typed one is also
        split after its first character.
        """
        from tokenizers import Regex
        from tokenizers.pre_tokenizers import Sequence, Split

        fast: Any = self._fast
        fast.encode_special_tokens = True
        added = fast.get_added_tokens_decoder()
        special = {number: token.content for number, token in added.items() if token.special and len(token.content) > 1}
        if any(
            number != self.unknown_id and number in fast.encode(content, add_special_tokens=False).ids
            for number, content in special.items()
        ):
            typed = "|".join(f"{re.escape(c[0])}(?={re.escape(c[1:])})" for c in special.values())
            split, own = Split(Regex(typed), "isolated"), fast.pre_tokenizer
            fast.pre_tokenizer = split if own is None else Sequence([own, split])

    def encode(self, texts: list[str]) -> list[Tokens]:
        """Return the tokens of each sentence; sentences are tokenized independently."""
        if self._fast is not None:
            return [_tokens(encoding) for encoding in self._fast.encode_batch_fast(texts)]
        return [self._encode_slowly(text) for text in texts]

    def encode_with_spans(self, texts: list[str]) -> list[PlacedTokens]:
        """Return the same tokens as `encode`, with the positions in the text that the tokenizer reports."""
        if self._fast is None:
            found = map(self._encode_slowly, texts)
            return [PlacedTokens(t, [s or "" for s in self.decode(t.ids)], [None] * len(t.ids)) for t in found]
        placed = []
        for e in self._fast.encode_batch(texts):
            tokens = _tokens(e)
            spans = [None if added else span for span, added in zip(e.offsets, tokens.added, strict=True)]
            placed.append(PlacedTokens(tokens, e.tokens, spans))
        return placed

    def spans(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids of all tokens of a text, without truncation and added tokens, and their spans in characters.

        Raises:
            ValueError: the tokenizer reports no positions (`has_spans`).
        """
        if self._fast is None:
            raise ValueError("the tokenizer reports no positions")
        self._fast.no_truncation()
        encoding = self._fast.encode(text, add_special_tokens=False)
        self._fast.enable_truncation(self.limit)
        return encoding.ids, encoding.offsets

    def encode_pairs(self, first: list[str], second: list[str]) -> list[tuple[Tokens, list[int]]]:
        """Return the tokens of pairs of sentences, and the token type of each token (0 or 1: first or second sentence).

        If a pair is over the limit, the longer sentence is truncated.
        """
        encoded = self._own(
            first, second, truncation="longest_first", max_length=self.limit,
            return_special_tokens_mask=True, return_token_type_ids=True,
        )  # fmt: skip
        columns = (first, second, encoded["input_ids"], encoded["special_tokens_mask"], encoded["token_type_ids"])
        pairs = [
            (Tokens(ids, added, self._whole_length(a, b) - len(ids) if len(ids) >= self.limit else 0), types)
            for a, b, ids, added, types in zip(*columns, strict=True)
        ]
        if self._fast is not None:
            self._fast.enable_truncation(self.limit)  # as it was before the call
        return pairs

    @property
    def filler_id(self) -> int:
        """The id that fills up a row: that of the padding token, or else of the end or the beginning of a text."""
        candidates = (self._own.pad_token_id, self._own.eos_token_id, self.start_id)
        return next((number for number in candidates if number is not None), 0)

    @property
    def has_spans(self) -> bool:
        """Whether the tokenizer reports the positions of tokens in a text."""
        return self._fast is not None

    def _encode_slowly(self, text: str) -> Tokens:
        out = self._own(text, truncation=True, max_length=self.limit, return_special_tokens_mask=True)
        return Tokens(out["input_ids"], out["special_tokens_mask"], self._whole_length(text) - len(out["input_ids"]))

    def _whole_length(self, *texts: str) -> int:
        """Return the number of tokens of a sentence or a pair of sentences that is not truncated."""
        return len(self._own(*texts, truncation=False, verbose=False)["input_ids"])

    def decode(self, ids: list[int]) -> list[str | None]:
        """Return the tokens' strings; None for an id that the tokenizer never produces."""
        return list(self._own.convert_ids_to_tokens(ids))

    @property
    def special(self) -> list[str]:
        """The special tokens' strings (`[CLS]`, `[PAD]`, ...)."""
        return list(self._own.all_special_tokens)

    @property
    def has_cls(self) -> bool:
        """Whether every sentence begins with the tokenizer's [CLS]."""
        first = self.encode(["a"])[0]
        return self.cls_id is not None and bool(first.ids) and first.ids[0] == self.cls_id and bool(first.added[0])

    @property
    def highest_id(self) -> int:
        """The highest id of the vocabulary."""
        return int(max(self._own.get_vocab().values()))

    def vocabulary(self) -> list[str]:
        """Return the string of each token id in order; the string is empty for an id without a token."""
        strings = [""] * (self.highest_id + 1)
        for token, number in self._own.get_vocab().items():
            strings[number] = token
        return strings


def _tokens(encoding: Any) -> Tokens:
    """Return the tokens of an encoding, whose overflow holds the tokens that were cut off, with special ones added."""
    cut = sum(len(part.ids) - sum(part.special_tokens_mask) for part in encoding.overflowing)
    return Tokens(encoding.ids, encoding.special_tokens_mask, cut)


def token_excess(block: Sequence[Tokens], tokenizer: Tokenizer, name: str) -> float:
    """Return the number of tokens of some sentences divided by the number that the vocabulary allows.

    The latter takes the longest token of the vocabulary at each place, from left to right.

    Raises:
        InputError: the tokenizer makes far more tokens, and never one of several characters.
    """
    strings, special = tokenizer.vocabulary(), set(tokenizer.special)
    pieces = {string for string in strings if string not in special}
    longest = max(map(len, pieces), default=1)
    made = allowed = 0
    for sentence in np.random.default_rng(0).permutation(len(block)).tolist():
        tokens = block[sentence]
        token_strings = [strings[i] for i, added in zip(tokens.ids, tokens.added, strict=True) if not added]
        token_strings = [string for string in token_strings[:_COUNTED] if string not in special]
        made, allowed = made + len(token_strings), allowed + _fewest("".join(token_strings), pieces, longest)
        if made >= _COUNTED:
            break
    excess = made / max(allowed, 1)
    if excess <= FAR:
        return excess
    used = {strings[i] for tokens in block for i, added in zip(tokens.ids, tokens.added, strict=True) if not added}
    if all(_ONE_CHARACTER.fullmatch(string) for string in used - special):
        raise InputError(
            f"--model {name}: its tokenizer splits every word into characters, although its vocabulary would allow "
            f"{excess:.1f} times fewer tokens; restore merges.txt or tokenizer.json next to config.json"
        )
    return excess


def _fewest(text: str, pieces: set[str], longest: int) -> int:
    """Return the number of tokens of a text if each is the longest of the vocabulary.

    >>> _fewest("Ġtheocat", {"Ġthe", "cat"}, 4)
    3
    """
    at = count = 0
    while at < len(text):
        sizes = range(min(longest, len(text) - at), 1, -1)
        at += next((size for size in sizes if text[at : at + size] in pieces), 1)
        count += 1
    return count
