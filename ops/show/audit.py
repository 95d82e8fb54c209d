"""Lay out what an audit found over all neurons."""

from ops.facts.audit_findings import HALVES, NEURONS, PERMUTED, VERDICTS, Facts
from ops.facts.listing import Listing, numbers
from ops.facts.text import wrap
from ops.show.listing import lines_of

_NAMES = {NEURONS: "neurons", PERMUTED: "data sets permuted over documents", HALVES: "two halves of each data set"}


def lay_out_audit(facts: Facts, width: int) -> str:
    """Return what an audit found as text: the sentences, then a table of verdicts with the controls."""
    titles = ("Verdicts", *(verdict.replace("_", " ") for verdict in VERDICTS))
    rows = [(_NAMES[name], *numbers(counts, VERDICTS, ",")) for name, counts in facts["verdicts"].items()]
    lines = [wrap(said, width) for said in facts["sentences"]]
    return "\n".join([*lines, *(["", *lines_of(Listing("", titles, rows), width)] if facts["explained"] else [])])
