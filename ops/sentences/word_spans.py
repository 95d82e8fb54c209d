"""The positions of the words of a sentence in its text, and the words of its model tokens."""

from collections.abc import Sequence

import numpy as np

from ops.arrays import Int32s

Span = tuple[int, int]


def word_spans(text: str, words: Sequence[str]) -> list[Span | None]:
    """Return each word's span in the text, `(start, end)` in characters; None for a word that is not in the text.

    A pipeline's words are consecutive parts of the text with only white space between them. A word that the pipeline
    normalised differs from the text and has no span.

    >>> word_spans("It's  so", ["It", "'s", "so"])
    [(0, 2), (2, 4), (6, 8)]
    """
    spans: list[Span | None] = []
    at = 0
    for word in words:
        start = text.find(word, at) if word else -1
        if start < 0:
            spans.append(None)
            continue
        at = start + len(word)
        spans.append((start, at))
    return spans


def words_of_tokens(tokens: Sequence[Span | None], words: Sequence[Span | None]) -> Int32s:
    """Return the index of the word with which each token shares the most characters, `[tokens]`; -1 for no word.

    If a token shares the same number of characters with two words, the first word is chosen. Words must be in order and
    must not overlap.

    >>> words_of_tokens([None, (0, 2), (2, 6), (6, 7)], [(0, 3), (3, 6)]).tolist()
    [-1, 0, 1, -1]
    """
    word_of = np.full(len(tokens), -1, np.int32)
    placed = [(i, *span) for i, span in enumerate(words) if span is not None]
    first = 0
    for token, span in enumerate(tokens):
        if span is None:
            continue
        if first and placed[first - 1][2] > span[0]:
            # A token may begin before the end of the token to its left (several tokens may cover one character).
            first = 0
        while first < len(placed) and placed[first][2] <= span[0]:
            first += 1
        most, at = 0, first
        while at < len(placed) and placed[at][1] < span[1]:
            word, start, end = placed[at]
            shared = min(end, span[1]) - max(start, span[0])
            if shared > most:
                most, word_of[token] = shared, word
            at += 1
    return word_of
