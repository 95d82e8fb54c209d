"""How a flag names a neuron, or another thing by two numbers."""

from ops.errors import InputError, one_line

NEURON = "LAYER:UNIT, such as 3:17 (layers from 1, units from 0)"
MOST_DIGITS = 9  # of a layer, a unit or a head


def parse_pair(flag: str, text: str, expected: str) -> tuple[int, int]:
    """Read two whole numbers with a colon between them.

    Raises:
        InputError: it is something else; `expected` says what was.
    """
    first, colon, second = text.partition(":")
    if not text:
        raise InputError(f"{flag} is missing: name {expected}")
    if not (colon and first.isdecimal() and second.isdecimal()):
        raise InputError(f"{flag} {text!r}: expected {expected}")
    if max(len(first), len(second)) > MOST_DIGITS:
        raise InputError(f"{flag} {one_line(text, 60)}: no model is so large; expected {expected}")
    return int(first), int(second)
