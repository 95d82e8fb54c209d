"""The type of a vocabulary's token according to its characters: the six types of Maeda 2024, assigned by rules."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import cache

import numpy as np

from ops.arrays import Integers

TYPES = ("Words", "Subwords", "Numbers", "Symbols", "Special", "Tags")

_RESERVED = re.compile(r"\[unused\d+\]|madeupword\d+|\[PAD\]|<pad>")
# WordPiece marks a piece inside a word; byte-pair and SentencePiece vocabularies mark a piece that follows a space.
INSIDE, AFTER_SPACE = "##", ("Ġ", "▁")


def vocabulary_mark(tokens: Sequence[str | None]) -> str:
    """Return the mark with which most pieces of a vocabulary begin: `##`, `Ġ` or `▁`, or "" if no piece has a mark."""
    counts = {mark: sum(t is not None and t.startswith(mark) for t in tokens) for mark in (INSIDE, *AFTER_SPACE)}
    mark = max(counts, key=lambda m: counts[m])
    return mark if counts[mark] else ""


def token_type(token: str | None, mark: str, special: Collection[str] = ()) -> str:
    """Return a token's type according to the first of these rules that applies.

    1. Special: padding and reserved rows (`[PAD]`, `[unused7]`, and None, a row that the tokenizer never uses).
    2. Tags: the tokenizer's other special tokens (`[CLS]`, `[SEP]`, `[MASK]`, `[UNK]`).
    3. Subwords: pieces marked as the inside of a word (`##`), or whose bytes are not complete characters.
    4. Symbols: pieces without letters and decimal digits, and single letters of a script other than Latin.
    5. Numbers: pieces that contain a decimal digit.
    6. Subwords: pieces not marked as following a space, in a vocabulary with such marks (`Ġ`, `▁`).
    7. Words: all other pieces.

    Args:
        token: the piece as it is in the vocabulary.
        mark: the mark, as `vocabulary_mark` returns it.

    >>> [token_type(t, "##") for t in ("may", "##ing", "1990s", "%", "人", "[unused3]")]
    ['Words', 'Subwords', 'Numbers', 'Symbols', 'Symbols', 'Special']
    >>> [token_type(t, "Ġ") for t in ("Ġmay", "ing", "Ġ1990", ",")]
    ['Words', 'Subwords', 'Numbers', 'Symbols']
    """
    if token is None or _RESERVED.fullmatch(token):
        return "Special"
    if token in special:
        return "Tags"
    if mark == INSIDE and token.startswith(mark) and len(token) > len(mark):
        return "Subwords"
    text = piece_text(token, mark)
    if text is None:
        return "Subwords"
    is_foreign = len(text) == 1 and text.isalpha() and not unicodedata.name(text, "").startswith("LATIN ")
    if is_foreign or not any(c.isalpha() or c.isdecimal() for c in text):
        return "Symbols"
    if any(c.isdecimal() for c in text):
        return "Numbers"
    return "Subwords" if mark in AFTER_SPACE and not token.startswith(mark) else "Words"


def piece_text(token: str, mark: str) -> str | None:
    """Return a piece's characters without its mark; None if its bytes are not complete characters."""
    text = token.removeprefix(mark)
    if mark != "Ġ":
        return text
    try:
        return bytes(_bytes_of_characters()[c] for c in text).decode()
    except KeyError:
        return text
    except UnicodeDecodeError:
        return None


def cluster_types(types: Sequence[str], labels: Integers) -> list[str]:
    """Return the most frequent type of each cluster's tokens; for ties, the first in `TYPES`.

    Args:
        types: the type of each token, `[tokens]`.
        labels: the cluster of each token, from 0, `[tokens]`.

    Returns:
        One type for each cluster; `Words` for a cluster without tokens.
    """
    counts = np.zeros((int(labels.max()) + 1, len(TYPES)), np.int64)
    np.add.at(counts, (labels, np.array([TYPES.index(t) for t in types])), 1)
    return [TYPES[i] for i in counts.argmax(1)]


@cache
def _bytes_of_characters() -> dict[str, int]:
    """Return the byte that each character of byte-level vocabularies represents."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    return {character: byte for byte, character in bytes_to_unicode().items()}
