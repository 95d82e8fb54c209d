"""What sets a neuron's winners apart, as one list of all kinds, with near-copies folded under the plainest one.

The content words that they share are a list of their own, which also has words that are less certain.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ops.facts.examples import embeds, matched_words, read_pattern
from ops.facts.rows import Row, Rows
from ops.facts.text import lift
from ops.forms.find import sentences_with
from ops.forms.forms import NAMES
from ops.penn import PUNCTUATION_TAGS, walk
from ops.statistics.association import measures

Holds = Callable[[Row], frozenset[int]]

MAX_Q = 0.05
LEAST_COUNT = 3  # with fewer winners there is no finding, however rare it is elsewhere
SAME = 0.9  # two findings are near-copies if this share of the winners that have either has both
CLEARLY_MORE = 2.0  # a longer form is a finding of its own if its lift is clearly this many times the shorter one's
PLAINEST_FIRST = ("word", "mark", "form", "word_class", "tag", "subtree", "value")
LISTED = 10  # words that winners share are listed at most
LEAST_UNSURE = 4  # a shared word whose q is 0.05 or above is in at least this many winners
LIFT_UNSURE = 5.0  # the least lift of such a word
_LOOKED_AT = 100  # only this many rows of each kind are considered, the strongest ones
_COMPARED = 24  # the winners of only this many findings are compared, the strongest ones of all kinds
_WORD_CLASSES = ("noun", "verb", "adjective")  # values of these properties are words, which are also patterns
_APART = ("tag", "tag_class", "words_per_sentence")  # these count tokens or lengths, and are shown separately
_KIND_OF_PROPERTY = dict.fromkeys(_WORD_CLASSES, "word") | {"punctuation": "mark"} | dict.fromkeys(NAMES, "form")


def findings(patterns: Rows, profiles: Rows, terms: Sequence[Row] = (), holds: Holds | None = None) -> Rows:
    """Return what winners have more often than the corpus (q below 0.05, at least 3 winners), the strongest first.

    One list has all words, tags, subtrees, marks, forms, values and classes of words, sorted by G2. A finding is folded
    into an earlier one that says the same:

    - a pattern that contains another of its kind or is contained in it, ignoring case; a longer one stays if its lift
      is clearly higher;
    - a finding other than a value that holds for nearly the same winners, if the intervals of the lifts overlap;
    - a tag or subtree that holds only within another finding's winners, without a clearly higher lift.

    Of near-copies the plainest is shown: a word before a mark, class, tag or subtree, then the shorter one.

    Args:
        patterns, profiles: one neuron and pole's rows of these tables.
        terms: its rows of explanation_terms/, the only table that has classes of words.
        holds: returns the winners that have a finding (see `winners_with`). Without it winners are not compared.

    Returns:
        Rows with `kind` (one of `PLAINEST_FIRST`), `name` (the property of a form or value, else the kind), `text`,
        `items`, `count` of `n` winners, `share`, `baseline_share`, `lift` with `lift_low` and `lift_high`, `g2`,
        `q_value` (null for a class), `docs` (null for a class), `same_as` (other properties with the value for the same
        sentences) and `variants` (the rows that are folded into it, the strongest first).
    """
    frequent = [row for row in strongest(patterns, profiles, True) if row["count"] >= LEAST_COUNT]
    return _fold(frequent + _word_classes(terms, profiles, _winners(patterns, profiles)), holds)


def avoidances(patterns: Rows, profiles: Rows) -> Rows:
    """Return what winners have less often than the corpus (q below 0.05), folded like `findings`, strongest first."""
    return _fold(strongest(patterns, profiles, False), None)


def strongest(patterns: Rows, profiles: Rows, is_preferred: bool) -> Rows:
    """Return the strongest rows of each kind that winners have more often, or less often, than the corpus.

    They have the columns that `findings` returns, but for variants. If several properties have one value for the same
    sentences (a data set and its domain), they share a row, and `same_as` names the others.
    """
    winners = _winners(patterns, profiles)
    by_kind: dict[str, Rows] = {kind: [] for kind in ("word", "tag", "subtree", "value")}
    for row in patterns:
        if _is_sure(row, is_preferred):
            by_kind[row["kind"]].append(_described(row, winners))
    words = {row["text"] for row in by_kind["word"]}
    for row in profiles:
        is_apart = row["property"] in _APART or (row["property"] in _WORD_CLASSES and row["value"] in words)
        if not is_apart and _is_sure(row, is_preferred):
            by_kind["value"].append(_described(row, winners))
    for rows in by_kind.values():
        rows.sort(key=lambda row: (-abs(row["g2"]), -row["count"], row["name"], row["text"]))
    by_kind["value"] = _joined(by_kind["value"])
    return [row for rows in by_kind.values() for row in rows[:_LOOKED_AT]]


def _is_sure(row: Row, is_preferred: bool) -> bool:
    is_known = row["q_value"] is not None and row["q_value"] < MAX_Q and row["lift"] is not None
    return is_known and bool(row["g2"] > 0 if is_preferred else row["g2"] < 0)


def _described(row: Row, winners: int) -> Row:
    """Return a row of patterns/ or profiles/ with the columns of a finding."""
    if "pattern" in row:
        columns = {"name": row["kind"], "text": row["pattern"], "count": row["support"], "lift_low": row["lift_low"]}
    else:  # profiles/ has only the counts
        elsewhere = round(row["baseline_share"] * row["baseline_n"])
        low = float(measures(row["count"], row["n"], elsewhere, row["baseline_n"]).lift_low[0])
        columns = {"name": row["property"], "text": row["value"], "items": [row["value"]], "lift_low": low}
        columns["kind"] = _KIND_OF_PROPERTY.get(row["property"], "value")
    return {"n": winners, "same_as": [], **row, **columns, "lift_high": row["lift"] ** 2 / columns["lift_low"]}


def _joined(rows: Rows) -> Rows:
    kept: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        same = (row["text"], row["count"], row["n"], row["baseline_share"], row["baseline_n"])
        if kept.setdefault(same, row) is not row:
            kept[same]["same_as"].append(row["name"])
    return list(kept.values())


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
    words: dict[str, Row] = {}
    for row in sorted((r for r in profiles if r["property"] in _WORD_CLASSES and r["g2"] > 0), key=lambda r: -r["g2"]):
        word = row["value"].lower()
        sure = row["q_value"] is not None and row["q_value"] < MAX_Q
        enough = row["count"] >= (LEAST_COUNT if sure else LEAST_UNSURE)
        if word not in words and enough and (sure or (row["lift"] or 0.0) >= LIFT_UNSURE):
            count = max(row["count"], support.get(row["value"], 0))
            words[word] = {"word": row["value"], "count": count, "n": winners, "q_value": row["q_value"]}
            words[word] |= {"lift": row["lift"], "is_sure": sure}
    return sorted(words.values(), key=lambda row: not row["is_sure"])[:LISTED]


def times(row: Row) -> str:
    """Return a finding's lift, or that no other sentence in the corpus has it."""
    return "no other" if row["baseline_share"] == 0 else lift(row["lift"])


def winners_with(row: Row, sentences: Sequence[Row], options: Row) -> frozenset[int]:
    """Return the positions of the sentences that have a finding.

    These are rows of `sentences/` (`words`, `tags`, `tree`, `dataset`, and `meta` if there is any). The options are
    those of `mine`.
    """
    if row["kind"] == "form":
        return sentences_with(row["name"], row["text"], sentences)
    return frozenset(i for i, sentence in enumerate(sentences) if _has(row, sentence, options))


def _has(row: Row, sentence: Row, options: Row) -> bool:
    kind, words, tags = row["kind"], sentence["words"] or (), sentence["tags"] or ()
    if kind == "value":
        labels = {"dataset": sentence["dataset"], **(sentence.get("meta") or {})}
        # Properties that are keys are called meta:KEY if another property has the key's name.
        return bool(labels.get(row["name"], labels.get(row["name"].removeprefix("meta:"))) == row["text"])
    if kind == "mark":
        if len(tags) != len(words):  # without tags, a mark is recognised by its characters
            return row["text"] in words
        return any(word == row["text"] and tag in PUNCTUATION_TAGS for word, tag in zip(words, tags, strict=True))
    if kind == "word_class":
        return not {word.lower() for word in words}.isdisjoint(row["items"])
    if "pattern" in row:
        return matched_words(sentence, row, options) is not None
    return row["text"] in words  # a word of a tag class


def _winners(patterns: Rows, profiles: Rows) -> int:
    """Return the number of winners that the shares are based on."""
    known = [round(row["support"] / row["share"]) for row in patterns[:1] if row["share"]]
    return known[0] if known else max((r["n"] for r in profiles if r["property"] == "dataset"), default=0)


def measured_class(term: Row, winners: int, others: int) -> Row:
    """Return how many of the winners have a class of words, a row of explanation_terms/, and its association.

    `winners` and `others` are the numbers of winners, and of other sentences in the corpus.
    """
    count, elsewhere = round(term["share"] * winners), round((term["baseline_share"] or 0.0) * others)
    association = measures(count, winners, elsewhere, others)
    names = ("share", "baseline_share", "lift", "lift_low", "g2")
    return {"count": count, "n": winners} | {name: float(getattr(association, name)[0]) for name in names}


def _word_classes(terms: Sequence[Row], profiles: Rows, winners: int) -> Rows:
    """Return the classes of words in the winners' score card as findings, with the same measures as the others."""
    others = max((row["baseline_n"] for row in profiles if row["property"] == "dataset"), default=0)
    classes: Rows = []
    for term in terms if winners and others else ():
        if (term["model"], term["kind"], term["negated"]) != ("winners", "word_class", False):
            continue
        measured = measured_class(term, winners, others)
        row = dict.fromkeys(("kind", "name"), "word_class") | {"text": term["pattern"].replace(", ", "/")}
        row |= {"items": term["items"], "count": measured["count"], "n": winners, "q_value": None, "docs": None}
        row |= {"same_as": []} | measured | {"lift_high": measured["lift"] ** 2 / measured["lift_low"]}
        if row["count"] >= LEAST_COUNT and row["g2"] > 0:
            classes.append(row)
    return classes


class _Group:
    """Findings that are shown as one. The strongest leads, and the plainest of its near-copies is shown."""

    def __init__(self, row: Row) -> None:
        self.leader, self.shown, self.others = row, row, Rows()

    def take(self, group: "_Group", is_copy: bool) -> None:
        """Add the findings of a group, what it shows first; if that is a plainer near-copy, it is shown."""
        row = group.shown
        self.others += [row, *(other for other in (group.leader, *group.others) if other is not row)]
        if is_copy and _plainness(row) < _plainness(self.shown):
            self.shown = row

    def row(self) -> Row:
        variants = [row for row in (self.leader, *self.others) if row is not self.shown]
        return {**self.shown, "variants": sorted(variants, key=_strength)}


def _fold(rows: Rows, holds: Holds | None) -> Rows:
    groups = [_Group(row) for row in sorted(rows, key=_strength)]
    # A plainer form may be nested with findings that its leader was not nested with, so repeat until none are joined.
    before = len(groups) + 1
    while len(groups) < before:
        before, given, groups = len(groups), groups, []
        for group in given:
            row = group.shown
            nested = (g for g in groups if _is_nested(row, g.leader) or _is_nested(row, g.shown))
            known = next(nested, None)
            if known is None:
                groups.append(group)
            else:
                known.take(group, _has_same_count(row, known.leader))
    return sorted((group.row() for group in (_by_winners(groups, holds) if holds else groups)), key=_strength)


def _by_winners(groups: list[_Group], holds: Holds) -> list[_Group]:
    """Fold findings that hold for the same winners as an earlier one, and syntax that adds nothing to one."""
    kept: list[tuple[_Group, frozenset[int]]] = []
    for group in groups[:_COMPARED]:
        own = holds(group.shown)
        for known, theirs in kept:
            is_copy = _is_copy(group.leader, own, known.leader, theirs)
            if is_copy or _adds_nothing(group.shown, own, known.shown, theirs):
                known.take(group, is_copy)
                break
        else:
            kept.append((group, own))
    return [group for group, _ in kept] + groups[_COMPARED:]


def _is_copy(row: Row, own: frozenset[int], other: Row, theirs: frozenset[int]) -> bool:
    if "value" in (row["kind"], other["kind"]) or min(len(own), len(theirs)) < LEAST_COUNT:
        return False
    return len(own & theirs) >= SAME * len(own | theirs) and _lifts_overlap(row, other)


def _adds_nothing(row: Row, own: frozenset[int], other: Row, theirs: frozenset[int]) -> bool:
    """Return whether a finding of syntax holds within another one's winners without a clearly higher lift."""
    if row["kind"] not in ("tag", "subtree") or other["kind"] == "value" or len(own) < LEAST_COUNT:
        return False
    return len(own & theirs) >= SAME * len(own) and not _says_more(row, other)


def _is_nested(row: Row, other: Row) -> bool:
    """Return whether one of two findings of a kind, the stronger one last, contains the other and says no more.

    The last only matters if the longer one is weaker.
    """
    if row["kind"] != other["kind"]:
        return False
    if row["kind"] in ("mark", "form", "value", "word_class"):
        return row["name"] == other["name"] and _folded(row) == _folded(other)
    return _contains(other, row) or (_contains(row, other) and not _says_more(row, other))


def _says_more(row: Row, other: Row) -> bool:
    return bool(row["lift_low"] >= CLEARLY_MORE * other["lift"])


def _contains(longer: Row, shorter: Row) -> bool:
    """Return whether a finding has another one's items in their order, and a subtree also the other one itself."""
    rest = iter(_folded(longer))
    if len(shorter["items"]) > len(longer["items"]) or not all(item in rest for item in _folded(shorter)):
        return False
    wanted = read_pattern(shorter["text"]) if longer["kind"] == "subtree" else None
    return wanted is None or any(embeds(node, wanted) for node in walk(read_pattern(longer["text"])))


def _folded(row: Row) -> list[str]:
    return [item.casefold() for item in row["items"]]


def _has_same_count(row: Row, other: Row) -> bool:
    """Return whether two findings, one of which contains the other, hold for nearly the same winners."""
    low, high = sorted((row["count"], other["count"]))
    return low >= SAME * high and _lifts_overlap(row, other)


def _lifts_overlap(row: Row, other: Row) -> bool:
    return bool(row["lift_low"] <= other["lift_high"] and other["lift_low"] <= row["lift_high"])


def _strength(row: Row) -> tuple[Any, ...]:
    return -abs(row["g2"]), -row["count"], _plainness(row)


def _plainness(row: Row) -> tuple[Any, ...]:
    text = row["text"]
    return PLAINEST_FIRST.index(row["kind"]), len(row["items"]), len(text), text.lower(), text != text.lower(), text
