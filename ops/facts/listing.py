"""Lists of findings over a run, which `show` prints and pages draw."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from ops.facts.text import filled

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
