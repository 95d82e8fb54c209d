"""A text of the reader's own on pages: its tokens in shades, and its place among a neuron's winners."""

from ops.facts.rows import Row
from ops.facts.text import number
from ops.report.shading import shade


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
    own["said"] = ("above " if pole["pole"] == "top" else "below ") + number(row["beyond"], ".2f %") + " of the corpus"
    rank = f", and would be winner {row['rank']:,} of {pole['n_winners']:,}" if row["rank"] else ""
    first = pole["winners"][: pole["first"]]
    place = next((i for i, w in enumerate(first) if row["rank"] and w["rank"] >= row["rank"]), len(first))
    winners = [*first[:place], own, *first[place:], *pole["winners"][pole["first"] :]]
    return pole | {"winners": winners, "first": len(first) + 1, "own_said": own["said"] + rank}


def _shaded(facts: Row, row: Row) -> Row:
    tokens = {"starts": facts["starts"], "ends": facts["ends"], "activations": row["tokens"]}
    pieces = shade(facts["text"], tokens, row["span"])
    values = [abs(piece.value) for piece in pieces if piece.value is not None and not piece.text.isspace()]
    return {"pieces": pieces, "scale": max(values, default=0.0)}
