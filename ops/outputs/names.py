"""The values in columns of `outputs`' tables, shared by the code that writes them and the code that shows them."""

PROMOTED, SUPPRESSED = "promoted", "suppressed"
SIDES = (PROMOTED, SUPPRESSED)
SHOWN = 20  # number of tokens that are stored for each unit and side
MEASURES = ("kurtosis", "extreme")
UNITS, RANDOM = "units", "random"


def with_spaces(token: str) -> str:
    """Return a token with a space where the vocabulary marks one.

    >>> with_spaces("Ġthe"), with_spaces("▁the"), with_spaces("##ing")
    (' the', ' the', '##ing')
    """
    return token.replace("Ġ", " ").replace("▁", " ")
