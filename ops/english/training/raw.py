"""Running text from words and tags, spaced as English is written, to test a pipeline's own tokenizer."""

from collections.abc import Sequence

_CLOSING = frozenset([",", ".", ":", "''", "-RRB-", "POS"])
_OPENING = frozenset(["-LRB-", "``", "$"])
_CLITICS = frozenset(["n't", "'s", "'re", "'ve", "'ll", "'d", "'m", "%"])


def raw_text(words: Sequence[str], tags: Sequence[str]) -> str:
    """Return the text of a sentence, with no space inside hyphenated words, before clitics and closing punctuation.

    >>> raw_text("I do n't know ( yet ) .".split(), "PRP VBP RB VB -LRB- RB -RRB- .".split())
    "I don't know (yet)."
    """
    pieces: list[str] = []
    attach = True
    for word, tag in zip(words, tags, strict=True):
        closing = tag in _CLOSING and not word.startswith(("-", "\u2013", "\u2014"))
        if not attach and not closing and tag != "HYPH" and word.lower().replace("\u2019", "'") not in _CLITICS:
            pieces.append(" ")
        pieces.append(word)
        attach = tag in _OPENING or tag == "HYPH"
    return "".join(pieces)
