"""Lists of findings over a run, which `show` prints as text and pages draw."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from ops.facts.text import filled, shorten, wrap

LEAST = 16  # the first column of a text has at least this many characters
INDENT = 2

Columns = Sequence[tuple[str, str]]  # titles, and formats of the cells such as `{count:,} of {n:,}` (see `filled`)


class Listing(NamedTuple):
    """A list of findings.

    Attributes:
        about: what the list shows.
        titles: the titles of its columns.
        rows: the text of each cell.
        notes: findings in sentences, to be read after the rows.
    """

    about: str
    titles: tuple[str, ...] = ()
    rows: Sequence[tuple[str, ...]] = ()
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, about: str, columns: Columns, rows: Iterable[dict[str, Any]], notes: Sequence[str] = ()) -> Self:
        """Return rows as a list with these columns."""
        titles, formats = zip(*columns, strict=True)
        return cls(about, titles, [tuple(filled(form, row) for form in formats) for row in rows], notes)

    @property
    def is_number(self) -> list[bool]:
        """Whether all cells of a column are numbers, for each column."""
        return [
            all(cell in ("-", "no other") or cell.lstrip("+-")[:1].isdigit() for cell in cells)
            for cells in zip(*self.rows, strict=True)
        ]

    def lines(self, width: int) -> list[str]:
        """Return the list as lines of text: what it shows, its rows in columns, and its notes.

        The first column is cut so that the others have room. Columns of numbers are aligned on the right.
        """
        lines = [wrap(self.about, width)] if self.about else []
        if self.rows:
            table, is_number = [self.titles, *self.rows], self.is_number
            widths = [max(map(len, column)) for column in zip(*table, strict=True)]
            left = width - INDENT - sum(wide + 2 for wide in widths[1:])
            widths[0] = max(min(widths[0], left), min(widths[0], LEAST))
            for number, (first, *cells) in enumerate(table):
                indent = "" if number == 0 and not self.about else " " * INDENT
                room = widths[0] + INDENT - len(indent)
                start = indent + _aligned(shorten(first, room), room, is_number[0])
                columns = zip(cells, widths[1:], is_number[1:], strict=True)
                lines.append(shorten("  ".join([start, *(_aligned(*column) for column in columns)]).rstrip(), width))
        return [*lines, *(wrap(f"  {note}", width) for note in self.notes)]


def lay_out_listings(listings: Iterable[Listing], width: int) -> str:
    """Return lists of findings as text, with an empty line between them."""
    return "\n\n".join("\n".join(listing.lines(width)) for listing in listings)


def _aligned(cell: str, width: int, is_number: bool) -> str:
    return f"{cell:>{width}}" if is_number else f"{cell:<{width}}"
