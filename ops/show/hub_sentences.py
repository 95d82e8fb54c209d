"""Winners that win nearly everywhere, which pages and `show` fold to a line."""

from typing import Any

from ops.sentences.hubs import most_wins

Row = dict[str, Any]


def most_wins_of_run(topk: Row, neurons: int) -> float:
    """Return how many neurons and poles a sentence of a run may win without being a hub.

    Args:
        topk: the entry of the stage `topk` in run.json (`identity` with `k` and `poles`, `counts` with `scored`).
        neurons: of the run.
    """
    scored, poles = topk["counts"]["scored"], 2 if topk["identity"]["poles"] == "both" else 1
    return most_wins(min(topk["identity"]["k"], scored), scored, neurons * poles)


def is_hub(sentence: Row, most: float, family: int = 1) -> bool:
    """Tell whether a winner is a hub for a neuron.

    What a sentence wins of the neuron's own family does not count. As many wins are taken off as the family has
    members, so that a sentence just above the limit may stay that `explain`, which knows each member's winners, calls a
    hub.

    Args:
        sentence: its row of `sentences/`; one that was written without `wins` is none.
        most: as `most_wins_of_run` returns it.
        family: neurons and poles in the neuron's family, itself among them.
    """
    return bool(sentence.get("wins", 0) - family > most)


def said_wins(sentence: Row) -> str:
    """Return in words for how many others a sentence wins.

    >>> said_wins({"wins": 582})
    'also wins for 581 other neurons'
    """
    return f"also wins for {sentence['wins'] - 1:,} other neurons"
