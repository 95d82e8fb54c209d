"""Lay out what an audit found over all neurons."""

from ops.facts.audit_findings import Facts
from ops.facts.listing import Listing
from ops.facts.text import plain, wrap
from ops.facts.verdicts import AUDITED, HALVES, NEURONS, PERMUTED
from ops.show.listing import lines_of

_NAMES = {NEURONS: "neurons", PERMUTED: "data sets permuted over documents", HALVES: "two halves of each data set"}


def lay_out_audit(facts: Facts, width: int) -> str:
    """Return what an audit found as text: the sentences, then a table of verdicts with the controls."""
    lines = [wrap(said, width) for said in facts["sentences"]]
    if facts["explained"]:
        rows = [counts | {"name": _NAMES[name]} for name, counts in facts["verdicts"].items()]
        verdicts = [(plain(verdict), f"{{{verdict}:,}}") for verdict in AUDITED]
        lines += ["", *lines_of(Listing.of("", [("Verdicts", "{name}"), *verdicts], rows), width)]
    return "\n".join(lines)
