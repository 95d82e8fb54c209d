"""Lay out lists of findings as text."""

from collections.abc import Iterable

from ops.facts.listing import Listing
from ops.facts.text import shorten, wrap

LEAST = 16  # the first column has at least this many characters
INDENT = 2


def lay_out_listings(listings: Iterable[Listing], width: int) -> str:
    """Return lists of findings as text, with an empty line between them."""
    return "\n\n".join("\n".join(lines_of(listing, width)) for listing in listings)


def lines_of(listing: Listing, width: int) -> list[str]:
    """Return the lines of a list: what it shows, its rows in columns, and its notes.

    The first column is cut so that the others have room. Columns of numbers are aligned on the right.
    """
    lines = [wrap(listing.about, width)] if listing.about else []
    if listing.rows:
        table = [listing.titles, *listing.rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        left = width - INDENT - sum(wide + 2 for wide in widths[1:])
        widths[0] = max(min(widths[0], left), min(widths[0], LEAST))
        for number, (first, *cells) in enumerate(table):
            own = "" if number == 0 and not listing.about else " " * INDENT
            room = widths[0] + INDENT - len(own)
            start = own + _aligned(shorten(first, room), room, listing.is_number[0])
            columns = zip(cells, widths[1:], listing.is_number[1:], strict=True)
            lines.append(shorten("  ".join([start, *(_aligned(*column) for column in columns)]).rstrip(), width))
    return [*lines, *(wrap(f"  {note}", width) for note in listing.notes)]


def _aligned(cell: str, width: int, is_number: bool) -> str:
    return f"{cell:>{width}}" if is_number else f"{cell:<{width}}"
