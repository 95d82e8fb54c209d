"""Numbers and strings in columns of a fixed width."""


def number(value: float | None, width: int, digits: int) -> str:
    """Return a number in so many characters, or a dash for null."""
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"


def shorten(text: str, width: int) -> str:
    """Return a text cut to so many characters, with dots where something is left out."""
    return text if len(text) <= width else text[: max(width - 3, 1)] + "..."
