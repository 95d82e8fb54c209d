"""Numbers and strings in columns of a fixed width, words in lines."""

import textwrap


def number(value: float | None, width: int, digits: int) -> str:
    """Return a number in so many characters, or a dash for null."""
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"


def wrap(text: str, width: int) -> str:
    """Return a text in lines of at most so many characters, longer words aside."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def shorten(text: str, width: int) -> str:
    """Return a text cut to so many characters, with dots where something is left out."""
    return text if len(text) <= width else text[: max(width - 3, 1)] + "..."
