"""Hubs: winners that win nearly everywhere. Pages and `show` fold them to one line."""

from typing import Any

from ops.sentences.hubs import most_wins

Row = dict[str, Any]


def most_wins_of_run(topk: Row, neurons: int) -> float:
    """Return for how many neurons and poles a sentence of a run may win without being a hub.

    Args:
        topk: the entry of the stage `topk` in run.json (`identity` with `k` and `poles`, `counts` with `scored`).
        neurons: the number of neurons in the run.
    """
    scored, poles = topk["counts"]["scored"], 2 if topk["identity"]["poles"] == "both" else 1
    return most_wins(min(topk["identity"]["k"], scored), scored, neurons * poles)


def is_hub(sentence: Row, most: float, family: int = 1) -> bool:
    """Return whether a winner is a hub for a neuron.

    Wins in the neuron's own family do not count. One win is subtracted for each member of the family. This is an
    estimate: `explain`, which knows the winners of each member, may call a sentence just above the limit a hub although
    it is none here.

    Args:
        sentence: its row of `sentences/`. A row that was written without `wins` is no hub.
        most: the limit that `most_wins_of_run` returns.
        family: the number of neurons and poles in the neuron's family, including itself.
    """
    return bool(sentence.get("wins", 0) - family > most)


def said_wins(sentence: Row) -> str:
    """Say for how many other neurons a sentence wins.

    >>> said_wins({"wins": 582})
    'also wins for 581 other neurons'
    """
    return f"also wins for {sentence['wins'] - 1:,} other neurons"
