"""The division of sentences into words, which counting and the model's pass share."""

from itertools import repeat

import numpy as np
import regex  # type: ignore[import-untyped]

from ops.arrays import Int32s

# A word is a number with points and commas, or letters and digits, with their combining marks, and apostrophes and
# hyphens between them.
_CURLY = "\u2019"
_LETTERS = r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*"
_WORD = rf"\d+(?:[.,]\d+)+|{_LETTERS}(?:['{_CURLY}-]{_LETTERS})*"
_FIND = regex.compile(_WORD)
_FIND_ALL = regex.compile(rf"\n|{_WORD}")
SENTENCE_END = -2  # used in place of a word's index
UNKNOWN = -1


def fold(text: str, case: str) -> str:
    """Return a text with straight instead of curly apostrophes, and in lower case if `case` is `lower`."""
    text = text.replace(_CURLY, "'")
    return text.lower() if case == "lower" else text


def split_words(text: str, case: str = "keep") -> list[str]:
    """Return the words of one sentence, without punctuation.

    >>> split_words("It's well-known: the cat, aged 3.5, (still) purrs.")
    ["It's", 'well-known', 'the', 'cat', 'aged', '3.5', 'still', 'purrs']
    >>> split_words("हिन्दी İstanbul", "lower")
    ['हिन्दी', 'i̇stanbul']
    """
    return [fold(word, case) for word in _FIND.findall(text)]


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return for each word the index of its first character and the index after its last character.

    >>> word_spans("Oh, no!")
    [(0, 2), (4, 6)]
    """
    return [found.span() for found in _FIND.finditer(text)]


def words_and_ends(texts: list[str], case: str) -> list[str]:
    r"""Return the words of all sentences in sequence, with a newline after each sentence's last word.

    >>> words_and_ends(["One, two.", "Three."], "lower")
    ['one', 'two', '\n', 'three', '\n']
    """
    joined = "\n".join(text.replace("\n", " ") for text in texts)
    words: list[str] = _FIND_ALL.findall(joined + "\n") if texts else []
    # The lower case of a sigma depends on what follows, so that words are folded one by one.
    folded = {word: fold(word, case) for word in set(words)}
    return [folded[word] for word in words]


def numbered(words: list[str], numbers: dict[str, int]) -> Int32s:
    """Return the index of each of `words_and_ends`, `[words]` int32: -1 for an unknown word, -2 for an end."""
    known = numbers | {"\n": SENTENCE_END}
    return np.fromiter(map(known.get, words, repeat(UNKNOWN)), np.int32, len(words))
