"""The strongest findings about a neuron: the patterns and values that its winners prefer or avoid, and their words."""

from typing import Any

from ops.facts.rows import Row, Rows
from ops.statistics.association import measures

MAX_Q = 0.05
KINDS = ("word", "tag", "subtree")
# The values of these properties are words, which are also patterns of one word.
_WORD_CLASSES = ("noun", "verb", "adjective")
# These properties count tokens or lengths. They are shown separately, or with --all.
_APART = frozenset({"tag", "tag_class", "words_per_sentence"})
LISTED = 10  # words listed at most
LEAST_SURE = 3  # a word whose q is below 0.05 is in at least this many winners
LEAST_UNSURE = 4  # the same for a word whose q is 0.05 or above
LIFT_UNSURE = 5.0  # the least lift of such a word


def strongest(patterns: Rows, profiles: Rows, is_preferred: bool) -> dict[str, Rows]:
    """Return what winners have more often, or less often, than the baseline (q below 0.05), the strongest first.

    The rows of one neuron and pole are returned by kind: `word`, `tag`, `subtree`, and `value` for the values of all
    properties. Each row has `name` (kind or property), `text`, `count`, and `lift_low` and `lift_high`, the 95 %
    interval of its lift. If several properties have one value for the same sentences (a data set and its domain), they
    share a row, and `same_as` names the others.
    """
    found: dict[str, Rows] = {kind: [] for kind in (*KINDS, "value")}
    for row in patterns:
        if _is_sure(row, is_preferred):
            found[row["kind"]].append(_described(row, row["kind"], row["pattern"], row["support"]))
    words = {row["text"] for row in found["word"]}
    for row in profiles:
        is_apart = row["property"] in _APART or (row["property"] in _WORD_CLASSES and row["value"] in words)
        if not is_apart and _is_sure(row, is_preferred):
            found["value"].append(_described(row, row["property"], row["value"], row["count"]))
    for rows in found.values():
        rows.sort(key=lambda row: (-abs(row["g2"]), -row["count"], row["name"], row["text"]))
    found["value"] = _joined(found["value"])
    return found


def _joined(rows: Rows) -> Rows:
    kept: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        same = (row["text"], row["count"], row["n"], row["baseline_share"], row["baseline_n"])
        if same in kept:
            kept[same]["same_as"].append(row["name"])
        else:
            kept[same] = {**row, "same_as": []}
    return list(kept.values())


def _is_sure(row: dict[str, Any], is_preferred: bool) -> bool:
    is_known = row["q_value"] is not None and row["q_value"] < MAX_Q and row["lift"] is not None
    return is_known and bool(row["g2"] > 0 if is_preferred else row["g2"] < 0)


def _described(row: dict[str, Any], name: str, text: str, count: int) -> dict[str, Any]:
    low = row.get("lift_low")
    if low is None:  # profiles/ has only the counts
        elsewhere = round(row["baseline_share"] * row["baseline_n"])
        low = float(measures(count, row["n"], elsewhere, row["baseline_n"]).lift_low[0])
    return {**row, "name": name, "text": text, "count": count, "lift_low": low, "lift_high": row["lift"] ** 2 / low}


def shared_words(profiles: Rows, patterns: Rows, winners: int) -> Rows:
    """Return the nouns, verbs and adjectives that winners have more often than the corpus, the strongest first.

    The profiles and patterns are one neuron and pole's rows of these tables. Up to 10 rows are returned, with `word`,
    `count` of `n` winners, `q_value`, `lift` and `is_sure` (whether q is below 0.05). The less certain words come last.
    A profile counts a word in one class; if its pattern has more winners, these count.
    """
    support: dict[str, int] = {}
    for row in patterns:
        if row["kind"] == "word":
            support[row["pattern"]] = max(row["support"], support.get(row["pattern"], 0))
    found: dict[str, Row] = {}
    for row in sorted((r for r in profiles if r["property"] in _WORD_CLASSES and r["g2"] > 0), key=lambda r: -r["g2"]):
        word = row["value"].lower()
        sure = row["q_value"] is not None and row["q_value"] < MAX_Q
        enough = row["count"] >= (LEAST_SURE if sure else LEAST_UNSURE)
        if word not in found and enough and (sure or (row["lift"] or 0.0) >= LIFT_UNSURE):
            count = max(row["count"], support.get(row["value"], 0))
            found[word] = {"word": row["value"], "count": count, "n": winners, "q_value": row["q_value"]}
            found[word] |= {"lift": row["lift"], "is_sure": sure}
    return sorted(found.values(), key=lambda row: not row["is_sure"])[:LISTED]
