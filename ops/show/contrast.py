"""Lay out what a contrast found."""

from ops.facts.rows import Row
from ops.facts.text import wrap
from ops.show.listing import lay_out_listings


def lay_out_contrasts(facts: Row, width: int) -> str:
    """Return the facts of `read_contrasts` as text: the sentences about probes, then the lists."""
    said = "\n".join(wrap(sentence, width) for sentence in facts["sentences"])
    return "\n\n".join(filter(None, [said, lay_out_listings(facts["lists"], width)]))
