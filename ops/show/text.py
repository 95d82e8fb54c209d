"""Format numbers and strings for columns, wrap text in lines, and write lifts and q values."""

import textwrap
from collections.abc import Sequence


def number(value: float | None, width: int, digits: int) -> str:
    """Return a number in a column of this width, or a dash for null."""
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"


def lift(value: float | None) -> str:
    """Return a lift with about three digits, or a dash for null."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def q_value(value: float | None) -> str:
    """Return a false discovery rate, or a dash for null. A very small one is written as a power of ten."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "<1e-99" if value < 1e-99 else f"{value:.0e}"


def activation(value: float) -> str:
    """Return an activation with four decimal places, or with three digits if these would show it as 0.

    >>> activation(-0.58664), activation(3.14159e-8), activation(0.0)
    ('-0.5866', '3.14e-08', '0.0000')
    """
    return f"{value:.4f}" if abs(value) >= 1e-3 or not value else f"{value:.2e}"


def wrap(text: str, width: int) -> str:
    """Return a text in lines of at most this width. A longer word gets a line of its own."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def shorten(text: str, width: int) -> str:
    """Return a text cut to this width, with dots at the end if it was cut."""
    return text if len(text) <= width else text[: max(width - 3, 1)] + "..."


def enumerated(pieces: Sequence[str], conjunction: str) -> str:
    """Return pieces of text as an enumeration.

    >>> enumerated(["a", "b", "c"], "and"), enumerated(["a"], "or")
    ('a, b and c', 'a')
    """
    return f"{', '.join(pieces[:-1])} {conjunction} {pieces[-1]}" if len(pieces) > 1 else pieces[0]
