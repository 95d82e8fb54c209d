"""Sentences in pieces, each with the activation of its token, and a text of the reader's own among them."""

from itertools import groupby
from typing import Any, NamedTuple

from ops.facts.rows import Row
from ops.facts.text import number

MOST = 0.9999  # a larger share of the corpus is nearly all of it, and a share that leaves more than this nearly none


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
        for token, (start, end, value) in enumerate(spans):
            if start is None:
                continue
            # The space at the start of a byte-level token is not shaded.
            while start < end and text[start].isspace():
                start += 1
            for i in range(start, end):
                held = values[i]
                if held is None or abs(value) > abs(held):
                    values[i], owner[i] = value, token
    first, stop = peak or (0, 0)
    pieces = []
    for (_, is_peak), places in groupby(range(len(text)), lambda i: (owner[i], first <= i < stop)):
        positions = [*places]
        pieces.append(Piece(text[positions[0] : positions[-1] + 1], values[positions[0]], is_peak))
    return pieces


def with_own_text(facts: Row) -> Row:
    """Return the facts of a text with the shaded `pieces` of the text, and their `scale`, in each row of a unit."""
    return facts | {"rows": [row | _shaded(facts, row) for row in facts["rows"]]}


def with_own_winner(pole: Row, facts: Row) -> Row:
    """Return the variables for a pole of a neuron's page, with the reader's text in its place among the winners.

    It comes before the first winner of a lower rank, or after all winners that are not folded. The facts of the text
    are those of `Responder.place`.
    """
    row = facts["poles"][pole["pole"]]
    own = row | _shaded(facts, row) | {"is_own": True, "text": facts["text"], "lead": 0, "is_hub": False}
    own["said"] = ("above " if pole["pole"] == "top" else "below ") + _part(row["beyond"])
    rank = f", and would be winner {row['rank']:,} of {pole['n_winners']:,}" if row["rank"] else ""
    first = pole["winners"][: pole["first"]]
    place = next((i for i, w in enumerate(first) if row["rank"] and w["rank"] >= row["rank"]), len(first))
    winners = [*first[:place], own, *first[place:], *pole["winners"][pole["first"] :]]
    return pole | {"winners": winners, "first": len(first) + 1, "own_said": own["said"] + rank}


def _part(share: float) -> str:
    """Return a share of the corpus in words, with a second decimal place below 1 % and above 99 %.

    >>> _part(0.4567), _part(0.99934), _part(0.9999999), _part(0.0)
    ('45.7 % of the corpus', '99.93 % of the corpus', 'nearly all of the corpus', 'nearly none of the corpus')
    """
    if not 1 - MOST <= share <= MOST:
        return f"nearly {'all' if share > MOST else 'none'} of the corpus"
    return f"{number(share, '.1f %' if 0.01 <= share <= 0.99 else '.2f %')} of the corpus"


def _shaded(facts: Row, row: Row) -> Row:
    tokens = {"starts": facts["starts"], "ends": facts["ends"], "activations": row["tokens"]}
    pieces = shade(facts["text"], tokens, row["span"])
    values = [abs(piece.value) for piece in pieces if piece.value is not None and not piece.text.isspace()]
    return {"pieces": pieces, "scale": max(values, default=0.0)}
