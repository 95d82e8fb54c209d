"""The positions of the words of a sentence in its text."""

from collections.abc import Sequence

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
