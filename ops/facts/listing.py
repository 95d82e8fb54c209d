"""Lists of findings over a run, which `show` prints and pages draw."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ops.facts.text import number


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

    @property
    def is_number(self) -> list[bool]:
        """Whether all cells of a column are numbers, for each column."""
        return [all(map(_is_number, cells)) for cells in zip(*self.rows, strict=True)]


def _is_number(cell: str) -> bool:
    return cell in ("-", "no other") or cell.lstrip("+-")[:1].isdigit()


def numbers(row: dict[str, Any], columns: Iterable[str], form: str) -> tuple[str, ...]:
    """Return the cells of a row's columns of numbers."""
    return tuple(number(row[column], form) for column in columns)
