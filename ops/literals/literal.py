"""A literal: a yes/no question about a sentence."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ops.arrays import Int64s

KINDS = ("word", "tag", "subtree", "mark", "value", "length", "word_class", "form", "hub")
NEAR = 0.9  # Jaccard similarity from which two literals are near-copies

# Of two equivalent literals, the one whose kind comes first in this list is shown.
PLAINEST_FIRST = ("word", "mark", "form", "word_class", "tag", "subtree", "value", "length", "hub")


class Literal(NamedTuple):
    """A literal: its kind, one of `KINDS`, its text, and its items.

    The items of a pattern are its parts, those of a class of words all of its words, that of a length the number of
    words. A form has a property and a value. A value has too, or only a key of metadata: it then says which sentences
    have the key.
    """

    kind: str
    pattern: str
    items: Sequence[str]

    @property
    def is_key(self) -> bool:
        """Whether it asks whether a sentence has a key of metadata."""
        return self.kind == "value" and len(self.items) == 1


def plainness(literals: Sequence[Literal], first: int = 0) -> Int64s:
    """Return how plain literals are, `[n]`: a smaller number is plainer, and all numbers differ.

    Literals are ranked by kind (`PLAINEST_FIRST`), then by the number of items, the length of the text, and the index.

    Args:
        literals: the literals.
        first: the index of the first literal; a neuron's own literals are numbered after the pool's.

    >>> some = [Literal("tag", "NN", ["NN"]), Literal("word", "of a", ["of", "a"]), Literal("word", "cat", ["cat"])]
    >>> plainness(some).argsort().tolist()
    [2, 1, 0]
    """
    kind = np.array([PLAINEST_FIRST.index(literal.kind) for literal in literals], np.int64)
    # That a sentence has a key of metadata says less than the key's value.
    size = np.array([255 if literal.is_key else min(len(literal.items), 254) for literal in literals], np.int64)
    length = np.array([min(len(literal.pattern), 255) for literal in literals], np.int64)
    return (kind << 56 | size << 48 | length << 40) + first + np.arange(len(literals))
