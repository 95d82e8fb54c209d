"""Splits a sentence into pieces, each with the activation of its token."""

from typing import Any, NamedTuple


class Piece(NamedTuple):
    """A piece of a text, with its token's activation (None without a token) and whether it is in the peak word."""

    text: str
    value: float | None
    peak: bool


def shade(text: str, tokens: dict[str, Any] | None, peak: tuple[int, int] | None) -> list[Piece]:
    """Return a text split into consecutive pieces, each of which belongs to one token or to none.

    `tokens` is the sentence's row of `token_activations/`, and `peak` the span of the peak word, if there are any.
    Tokens that share characters, such as an emoji's bytes, form one piece, with the value of largest absolute size. The
    ends of the peak word also split pieces.

    >>> row = {"starts": [None, 0, 2, None], "ends": [None, 2, 5, None], "activations": [9.0, 0.5, -1.0, 9.0]}
    >>> [tuple(piece) for piece in shade("ab cd", row, (3, 5))]
    [('ab', 0.5, False), (' ', None, False), ('cd', -1.0, True)]
    """
    values: list[float | None] = [None] * len(text)
    owner = [-1] * len(text)
    if tokens is not None:
        spans = zip(tokens["starts"], tokens["ends"], tokens["activations"], strict=True)
        for number, (start, end, value) in enumerate(spans):
            if start is None:
                continue
            # The space at the start of a byte-level token is not shaded.
            while start < end and text[start].isspace():
                start += 1
            for i in range(start, end):
                held = values[i]
                if held is None or abs(value) > abs(held):
                    values[i], owner[i] = value, number
    pieces: list[Piece] = []
    first = 0
    for i in range(1, len(text) + 1):
        here = peak is not None and peak[0] <= first < peak[1]
        cut = i == len(text) or owner[i] != owner[first] or (peak is not None and i in peak)
        if cut:
            pieces.append(Piece(text[first:i], values[first], here))
            first = i
    return pieces
