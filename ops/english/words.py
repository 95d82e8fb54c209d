"""The network's input for one word, independent of its context: its form, affixes, shape and characters."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import groupby

import numpy as np

from ops.arrays import Int32s

CHARACTERS = 16
FORMS = ("word", "suffix2", "suffix3", "prefix3", "shape")
FEATURES = (*FORMS, "character")
COLUMNS = len(FORMS) + CHARACTERS

_ADDRESS = re.compile(
    r"(?:https?://|www\.)\S+|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|info|co\.uk)(?:/\S*)?", re.IGNORECASE
)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DIGIT = re.compile(r"\d")
_LONG_RUN = re.compile(r"([^\W\d_])\1{2,}")


def normalised(word: str) -> str:
    """Return the form that is looked up: lower case, digits as 0, and one form for all addresses, @names and #tags.

    >>> [normalised(word) for word in ("Soooo", "1,250", "@jack", "#fun", "http://t.co/x", "a.b@c.org")]
    ['soo', '0,000', '<user>', '<hashtag>', '<address>', '<address>']
    """
    if len(word) > 1:
        if word[0] == "@" and word[1:].replace("_", "").isalnum():
            return "<user>"
        if word[0] == "#" and not word[1:].isdigit() and word[1:].replace("_", "").isalnum():
            return "<hashtag>"
        if ("." in word or "/" in word) and (_ADDRESS.fullmatch(word) or _MAIL.fullmatch(word)):
            return "<address>"
        word = _LONG_RUN.sub(r"\1\1", word)
    if not word.isascii():
        word = word.replace("\u2019", "'").replace("\u2018", "'")
        if len(word) <= 8 and not any(c.isalnum() or c.isascii() or "\u2000" < c < "\u206f" for c in word):
            return "<symbol>"
    return _DIGIT.sub("0", word.lower())


def shape(word: str) -> str:
    """Return the shape of a word, of at most 8 characters.

    Upper-case letters become X, other letters x and digits d; other characters are unchanged. More than two equal
    characters in a row are reduced to two.

    >>> shape("McDonald's")
    "XxXxx'x"
    """
    classes = ("X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word[:24])
    return "".join("".join(run)[:2] for _, run in groupby(classes))[:8]


def word_features(word: str) -> tuple[tuple[str, ...], str]:
    """Return the forms of a word in the order of FORMS, and its characters, without the middle of a long word."""
    form = normalised(word)
    half = CHARACTERS // 2
    read = form if len(form) <= CHARACTERS else form[:half] + form[-half:]
    return (form, form[-2:], form[-3:], form[:3], shape(word)), read


class Inventory:
    """The forms that have their own row in the network's tables; row 0 is for unknown forms.

    Args:
        kept: for each of FEATURES, the forms of rows 1, 2, ...
    """

    def __init__(self, kept: Mapping[str, Iterable[str]]) -> None:
        self.kept = {feature: list(kept[feature]) for feature in FEATURES}
        self._rows = {feature: {form: row for row, form in enumerate(self.kept[feature], 1)} for feature in FEATURES}

    def sizes(self) -> dict[str, int]:
        """Return the number of rows of each table, including the row of unknown forms."""
        return {feature: len(forms) + 1 for feature, forms in self.kept.items()}

    def rows(self, words: Iterable[str]) -> Int32s:
        """Return the rows of each word, `[words, COLUMNS]` int32: the forms, then the characters (0 past the end)."""
        rows = []
        characters = self._rows["character"]
        for word in words:
            forms, read = word_features(word)
            row = [self._rows[feature].get(form, 0) for feature, form in zip(FORMS, forms, strict=True)]
            row.extend(characters.get(c, 0) for c in read)
            row.extend([0] * (COLUMNS - len(row)))
            rows.append(row)
        return np.array(rows, np.int32).reshape(-1, COLUMNS)


def collect_inventory(counts: Mapping[str, float], minimum: Mapping[str, int]) -> Inventory:
    """Return the inventory of the forms that occur at least `minimum[feature]` times, from counts of words."""
    totals: dict[str, defaultdict[str, float]] = {feature: defaultdict(float) for feature in FEATURES}
    for word, count in counts.items():
        forms, read = word_features(word)
        for feature, form in zip(FORMS, forms, strict=True):
            totals[feature][form] += count
        for character in read:
            totals["character"][character] += count
    return Inventory(
        {feature: sorted(f for f, n in found.items() if n >= minimum[feature]) for feature, found in totals.items()}
    )
