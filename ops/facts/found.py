"""What a search found, as a list that the terminal prints and pages draw."""

from typing import Any

from ops.facts.listing import Columns, Listing
from ops.facts.query import Query
from ops.facts.search import MOST_SENTENCES, TEXT

Row = dict[str, Any]

_MATCH: Columns = (
    ("G2", "{g2:.1f}"), ("lift", "{lift:lift}"), ("q", "{q:q}"), ("winners", "{count:,} of {n:,}"),
    ("found", "{kind:plain}: {found}"), ("verdict", "{verdict}"), ("explanation", "{explanation}"),
)  # fmt: skip
_VERDICT: Columns = (
    ("beyond", "{margin_low:.3f}"), ("score", "{auc:.3f}"), ("excess", "{auc_excess:.3f}"), ("verdict", "{verdict}"),
    ("explanation", "{explanation}"),
)  # fmt: skip
_ACROSS: Columns = (("data sets", "{across:plain}"), ("holds in", "{ported} of {datasets}"))
_SENTENCE: Columns = (("rank", "{rank}"), ("activation", "{activation:activation}"), ("sentence", "{found}"))
_ORDERS = {
    "match": "by the G2 of the match; what is exactly the phrase comes before what contains it",
    "verdict": "those whose F1 is surely furthest above their controls first",
    "sentence": f"the highest ranks first, of at most {MOST_SENTENCES:,} sentences that contain it",
}


def found_listing(query: Query, rows: list[Row], unit: str) -> Listing:
    """Return the rows that `Searcher.find` returned as a list; the first column names the neuron and the pole.

    Args:
        query: the query.
        rows: the rows, each with `total`.
        unit: what the units are called, such as `neuron`.
    """
    total = rows[0]["total"] if rows else 0
    if not rows:
        return Listing(_nothing(query))
    columns, order = (_MATCH, "match") if query.text else (_VERDICT, "verdict")
    if query.kind == TEXT:
        columns, order = _SENTENCE, "sentence"
    elif rows[0]["across"] is not None and not query.text:
        columns = (*_VERDICT[:-1], *_ACROSS, _VERDICT[-1])
    count = f"{total:,}" if len(rows) == total else f"{len(rows):,} of {total:,}"
    return Listing.of(f"{count} found, {_ORDERS[order]}", [(unit, "{layer}:{unit} {pole}"), *columns], rows)


def _nothing(query: Query) -> str:
    if query.text.islower() and query.text.isalpha() and len(query.text) <= 5 and not query.kind:
        return "Nothing was found. Tags and labels have capital letters, such as VBN or NP."
    return "Nothing was found." + (" With weaker limits there may be more." if query.numbers else "")
