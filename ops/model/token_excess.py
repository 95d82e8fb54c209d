"""Whether a tokenizer makes far more tokens than its vocabulary allows, as one does whose merges were lost."""

import re

import numpy as np

from ops.errors import InputError
from ops.model.batches import TokenBlock
from ops.model.tokenizer import Tokenizer

FAR = 1.5  # tokens of a BPE or Unigram tokenizer are within a few percent of the longest that its vocabulary has
_COUNTED = 20_000  # tokens that are counted
_ONE_CHARACTER = re.compile(r"(##|Ġ|▁)?.?(</w>)?|<0x[0-9A-F]{2}>", re.DOTALL)


def token_excess(block: TokenBlock, tokenizer: Tokenizer, name: str) -> float:
    """Return the number of tokens of some sentences divided by the number that the vocabulary allows.

    The latter takes the longest token of the vocabulary at each place, from left to right.

    Raises:
        InputError: the tokenizer makes far more tokens, and never one of several characters.
    """
    strings, special = tokenizer.vocabulary(), set(tokenizer.special)
    pieces = {string for string in strings if string not in special}
    longest = max(map(len, pieces), default=1)
    made = allowed = 0
    for sentence in np.random.default_rng(0).permutation(len(block)).tolist():
        tokens = block[sentence]
        own = [strings[i] for i, added in zip(tokens.ids, tokens.added, strict=True) if not added]
        own = [string for string in own[:_COUNTED] if string not in special]
        made, allowed = made + len(own), allowed + _fewest("".join(own), pieces, longest)
        if made >= _COUNTED:
            break
    excess = made / max(allowed, 1)
    used = (strings[i] for i in np.unique(block.ids[~block.added]).tolist())
    if excess > FAR and all(_ONE_CHARACTER.fullmatch(string) for string in used if string not in special):
        raise InputError(
            f"--model {name}: its tokenizer splits every word into characters, although its vocabulary would allow "
            f"{excess:.1f} times fewer tokens; restore merges.txt or tokenizer.json next to config.json"
        )
    return excess


def _fewest(text: str, pieces: set[str], longest: int) -> int:
    """Return the number of tokens of a text if each is the longest of the vocabulary.

    >>> _fewest("Ġtheocat", {"Ġthe", "cat"}, 4)
    3
    """
    at = count = 0
    while at < len(text):
        sizes = range(min(longest, len(text) - at), 1, -1)
        at += next((size for size in sizes if text[at : at + size] in pieces), 1)
        count += 1
    return count
