"""Parses the values of flags that name a neuron, or anything else that is identified by two numbers."""

from collections.abc import Iterable

from ops.errors import InputError, one_line

NEURON = "LAYER:UNIT, such as 3:17 (layers from 1, units from 0)"
MOST_DIGITS = 9  # maximum number of digits of a layer, a unit or a head


def parse_pair(flag: str, text: str, expected: str) -> tuple[int, int]:
    """Return the two integers of a text that separates them by a colon.

    Raises:
        InputError: the text is anything else; the message names `expected`.
    """
    first, colon, second = text.partition(":")
    if not text:
        raise InputError(f"{flag} is missing: name {expected}")
    if not (colon and first.isdecimal() and second.isdecimal()):
        raise InputError(f"{flag} {text!r}: expected {expected}")
    if max(len(first), len(second)) > MOST_DIGITS:
        raise InputError(f"{flag} {one_line(text, 60)}: no model is that large; expected {expected}")
    return int(first), int(second)


def in_order(flag: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the neurons that a flag names, sorted by layer and unit, each once and in normal form.

    Raises:
        InputError: a name is not LAYER:UNIT.

    >>> in_order("--units", ["10:3", "2:07", "2:7"])
    ('2:7', '10:3')
    """
    return tuple(f"{layer}:{unit}" for layer, unit in sorted({parse_pair(flag, name, NEURON) for name in names}))
