"""Lay out the neurons that a run explains best, one line for each."""

from ops.facts.best import best_findings, said_also, said_in_brief
from ops.facts.listing import Listing
from ops.facts.rows import POLE, Row, key_of
from ops.facts.run_facts import RunFacts
from ops.facts.text import in_brief, wrap

# What is listed of a neuron with a rule, and of a scored one.
_RULES = [
    ("F1", "{f1:.3f}"),
    ("at least beyond", "{margin_low:.3f}"),
    ("also in", "{others}"),
    ("explanation", "{text}"),
]
_SCORED = [("score", "{auc:.3f}"), ("excess", "{auc_excess:.3f}"), ("words of its winners", "{text}")]


def read_best(run: RunFacts) -> list[Row]:
    """Return the neurons that a run explains best, best first.

    Returns:
        The distinct findings (`ops.facts.best`). If there are none, the neurons and poles whose held-out score exceeds
        their matched set's, with `auc` and `auc_excess`. Without either the list is empty.
    """
    rows = best_findings(run) or [row for row in run.scored() if row["auc_excess"] > 0]
    columns = ("text", "f1", "margin_low", "members", "also") if run.rules else ("auc", "auc_excess")
    return [{name: row[name] for name in (*POLE, *columns)} for row in rows]


def with_words(run: RunFacts, rows: list[Row]) -> list[Row]:
    """Return the rows, each with a `text`: rows without one get the strongest word patterns of their winners."""
    words = run.words([row for row in rows if "text" not in row])
    return [row if "text" in row else row | {"text": ", ".join(words[key_of(row)])} for row in rows]


def lay_out_best(run: RunFacts, rows: list[Row], total: int, pole: str | None, width: int) -> str:
    """Return some rows of `read_best`, each with a `text`, of a total number, as text with one line for each.

    They are those of a pole; None stands for both.
    """
    one, many = run.names.one, run.names.many
    if not rows:
        here = f" at the pole {pole}" if pole else ""
        return f"No {one} stands out{here}: none has a rule, and no held-out score exceeds its matched set's"
    what, columns = f"{many} whose held-out score exceeds their matched set's", _SCORED
    if "members" in rows[0]:
        what, columns = "distinct rules", _RULES
        rows = [row | {"others": said_also(row) or "-"} for row in rows]
    listing = Listing.of(
        f"{len(rows):,} of {total:,} {what}, best first; the first of many are flattered by this choice",
        [(one, "{layer}:{unit} {pole}"), *columns],
        [row | {"text": in_brief(row["text"])} for row in rows],
    )
    brief = said_in_brief(run)
    return "\n".join([*([wrap(brief, width)] if brief else []), *listing.lines(width)])
