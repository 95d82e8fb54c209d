"""The content words that a neuron's winners share, from the tables of patterns and profiles."""

from collections.abc import Iterable
from typing import Any

from ops.facts.strongest import MAX_Q

Row = dict[str, Any]
Rows = list[Row]

LISTED = 10  # words listed at most
LEAST_SURE = 3  # a word whose q is below 0.05 is in at least this many winners
LEAST_UNSURE = 4  # the same for a word whose q is 0.05 or above
LIFT_UNSURE = 5.0  # the least lift of such a word
_CLASSES = ("noun", "verb", "adjective")


def shared_words(profiles: Rows, topics: Rows, sentences: Iterable[Row], winners: int) -> Rows:
    """Return the nouns, verbs and adjectives that winners have more often than the corpus, the strongest first.

    Args:
        profiles: one neuron and pole's rows of this table.
        topics: its findings that are topics. Their `items` count as content words if winners contain them.
        sentences: the winners' rows of `sentences/`, in which the words of topics are counted.
        winners: the number of winners.

    Returns:
        Up to 10 rows with `word`, `count` of `n` winners, `q_value`, `lift` and `is_sure` (whether q is below 0.05).
        The less certain words come last. The `q_value` and `lift` of a topic's word without a row of its own are null.
    """
    found: dict[str, Row] = {}
    for row in sorted((r for r in profiles if r["property"] in _CLASSES and r["g2"] > 0), key=lambda r: -r["g2"]):
        word = row["value"].lower()
        sure = row["q_value"] is not None and row["q_value"] < MAX_Q
        enough = row["count"] >= (LEAST_SURE if sure else LEAST_UNSURE)
        if word not in found and enough and (sure or (row["lift"] or 0.0) >= LIFT_UNSURE):
            found[word] = {"word": row["value"], "count": row["count"], "n": winners, "q_value": row["q_value"]}
            found[word] |= {"lift": row["lift"], "is_sure": sure}
    counts: dict[str, int] = {}
    wanted = {item for topic in topics for item in topic["items"]} - set(found)
    for sentence in sentences if wanted else ():
        for word in wanted & {word.lower() for word in sentence["words"] or ()}:
            counts[word] = counts.get(word, 0) + 1
    for word, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if count >= LEAST_UNSURE:
            found[word] = {"word": word, "count": count, "n": winners, "q_value": None, "lift": None, "is_sure": False}
    return sorted(found.values(), key=lambda row: not row["is_sure"])[:LISTED]
