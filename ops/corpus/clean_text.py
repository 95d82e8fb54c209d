"""Normalisation of texts."""

import re
import unicodedata

_RUN = re.compile(r"([!@#$%^&*()_+\-=\[\]{};:?,.])\1+")


def normalize(text: str) -> str:
    """Return the text in NFC, with consecutive white space replaced by one space and none at the ends.

    >>> normalize("  cafe\\u0301\\tau\\n lait ")
    'café au lait'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def collapse_symbols(text: str) -> str:
    """Return the text with repetitions of one of the symbols ``!@#$%^&*()_+-=[]{};:?,.`` reduced to a single symbol.

    >>> collapse_symbols("Wait...  what?!?! -- no")
    'Wait.  what?!?! - no'
    """
    return _RUN.sub(r"\1", text)


def clean_sentence(text: str) -> str:
    """Return a text as `ingest` stores a sentence that it has split off: normalized, without repeated symbols.

    >>> clean_sentence("So...  what ?!?")
    'So. what ?!?'
    """
    return normalize(collapse_symbols(normalize(text)))
