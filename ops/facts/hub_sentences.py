"""Hubs: winners that win nearly everywhere. Pages and `show` fold them to one line."""

from typing import Any

Row = dict[str, Any]


def is_hub(sentence: Row, most: float, family: int = 1) -> bool:
    """Return whether a winner is a hub for a neuron.

    Wins in the neuron's own family do not count. One win is subtracted for each member of the family. This is an
    estimate: `explain`, which knows the winners of each member, may call a sentence just above the limit a hub although
    it is none here.

    Args:
        sentence: its row of `sentences/`.
        most: the limit that `ops.sentences.hubs.most_wins` returns.
        family: the number of neurons and poles in the neuron's family, including itself.
    """
    return bool(sentence["wins"] - family > most)


def said_wins(sentence: Row) -> str:
    """Say for how many other neurons a sentence wins.

    >>> said_wins({"wins": 582})
    'also wins for 581 other neurons'
    """
    return f"also wins for {sentence['wins'] - 1:,} other neurons"
