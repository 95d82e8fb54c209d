"""The text that explains a neuron: what its winners typically have, then the rule, written by templates."""

from collections.abc import Mapping, Sequence
from math import floor, isnan
from typing import Any

from ops.errors import counted
from ops.explain.combination import Bound, Combination
from ops.explain.verdict import LEAST_AREA, LEAST_F1
from ops.facts.text import enumerated
from ops.forms.in_words import form_named
from ops.literals.literal_words import PatternRules, Term, say
from ops.schema.verdicts import NONE, RULE, SOURCE, TENDENCY, UNCONFIRMED, WEAK
from ops.statistics.interval import Interval

Row = Mapping[str, Any]
Shares = tuple[float, float]  # of the winners, and of the other sentences

MOST_TYPICAL = 6  # number of typical patterns in a text
NAMED_BY = 3  # number of words that name a group of words, and of literals that name an activation model
MOST_CHARACTERS = 90  # of a pattern's name; a longer name is replaced by its code
LEAST_SAID = 0.005  # share of the variance; a smaller share is not mentioned
# Shares of winners that differ by at most this are said as one, if those of other sentences differ by at most this
# factor or this share.
SAME_SHARE, SAME_FACTOR, SAME_OTHERS = 0.1, 2.0, 0.002

TOO_FEW = "Too few winners, or documents with winners, to tell."
NOTHING = f"No rule with an F1 of {LEAST_F1}, and no held-out score of {LEAST_AREA}."

_MINED = PatternRules()  # the defaults of mine
_ADJACENT = PatternRules(word_gap=False)


def explanation_text(
    verdict: str,
    terms: Sequence[Term],
    *,
    typical: Sequence[Row] = (),
    setting: str = "",
    winners: int,
    in_sample: Shares,
    held_out: Shares,
    f1: float,
    area: Interval | None = None,
    r2: Row,
    moves: Sequence[Term] = (),
    needed: float | None = None,
    rules: PatternRules = _MINED,
) -> str:
    """Return an explanation in a few sentences: what is typical, the rule or why there is none, and the activation.

    Args:
        verdict: one of `ops.schema.verdicts.VERDICTS`.
        terms: the literals of the published card. All of them are named.
        typical: the entries of the column `typical`, the strongest first, and which of them say more than the stronger
            ones (`is_new`); six of these are named.
        setting: where the winners come from and how long they are, as `ops.explain.setting` says it.
        winners: number of winners.
        in_sample: the shares of the winners, and of the other sentences, that the published card calls winners.
        held_out: the same shares for the cards of the folds, each in its own fold. If they are about the same, only
            these are said, and otherwise both.
        f1: F1 of the cards of the folds.
        area: `auc` of `scores/`; None without scores.
        r2: `r2` with its interval, and `r2_nuisance`: R2 of the activation model, and of nuisance literals alone;
            empty without a model. If the interval contains 0, nothing is said.
        moves: the literals of that model, as they move the activation towards the winners; three of them are named, and
            the others that add something are counted.
        needed: the result of `evidence_needed`. If given, the text says how the literals combine.
        rules: the rules by which the patterns were mined.
    """
    typically = _typical_text(typical, winners, "" if verdict == SOURCE else setting)
    if verdict == RULE:
        ordered = sorted(terms, key=_order)
        bounds = [Bound(int(term.items[0]), term.negated) if term.kind == "length" else None for term in ordered]
        strongest = max(
            (i for i, term in enumerate(ordered) if term.gain), key=lambda i: ordered[i].gain or 0.0, default=-1
        )
        rule = Combination.of([abs(term.weight) for term in ordered], needed, bounds, strongest)
        condition = rule.text([say(term, rules, MOST_CHARACTERS) for term in ordered])
        claim = f"Rule: sentences {condition}{_called(in_sample, held_out)} (held-out F1 {f1:.2f})."
    else:
        claim = _without_rule(verdict, terms, winners, area, rules)
    by_gain = sorted((term for term in moves if (term.gain or 0.0) > 0), key=lambda term: -(term.gain or 0.0))
    named, rest = [say(term, rules, MOST_CHARACTERS).noun for term in by_gain[:NAMED_BY]], len(by_gain) - NAMED_BY
    named += [counted(rest, "other")] if rest > 0 else []
    return f"{typically}{claim}{_activation_text(r2, named)}"


def percent(share: float) -> str:
    """Return a share as a percentage with two digits. 100 and 0 are returned only for all and none.

    >>> [percent(share) for share in (0.638, 0.0312, 0.00082, 0.9996, 0.000001, 0.0)]
    ['64 %', '3.1 %', '0.082 %', '99.9 %', 'under 0.001 %', '0 %']
    """
    value = 100 * share
    if 0 < value < 0.001:
        return "under 0.001 %"
    if 99 < value < 100:
        return f"{floor(10 * value) / 10:.1f} %"
    return f"{value:.0f} %" if value >= 9.95 or value <= 0 else f"{value:.2g} %"


def typical_name(entry: Row) -> str:
    """Return a typical pattern in words.

    >>> typical_name({"kind": "word", "pattern": "sleep", "words": ["sleep", "bed", "tired", "nap"]})
    'words like *sleep*, *bed* and *tired*'
    >>> typical_name({"kind": "word", "pattern": "do n't", "words": ["do n't"]}), typical_name(
    ...     {"kind": "value", "pattern": "sentiment: negative", "words": []})
    ("*don't*", 'sentiment *negative*')
    """
    kind, pattern = entry["kind"], entry["pattern"]
    if len(entry["words"]) > 1 and kind == "word":
        return f"words like {enumerated([f'*{word}*' for word in entry['words'][:NAMED_BY]], 'and')}"
    if kind == "value":
        key, _, value = pattern.partition(": ")
        return f"{key} *{value}*"
    items = form_named(pattern) if kind == "form" else pattern.split(" ")
    term = Term(kind, pattern, items, negated=False, weight=1.0, share=1.0, baseline_share=None)
    said = say(term, _ADJACENT if kind == "word" else _MINED, MOST_CHARACTERS)
    return said.noun.removeprefix("being ")


def _order(term: Term) -> tuple[int, float]:
    """Sort language before labels before nuisance, each by its gain."""
    return (2 if term.nuisance else int(term.kind == "value")), -(term.gain or 0.0)


def _typical_text(typical: Sequence[Row], winners: int, setting: str) -> str:
    """List the strongest typical patterns with their shares, and say where the winners come from."""
    pieces: list[str] = []
    for entry in [entry for entry in typical if entry["is_new"]][:MOST_TYPICAL]:
        share, expected = (percent(entry[name] / winners) for name in ("winners", "expected"))
        shares = f"{share}, {expected}" if pieces else f"{share} of its winners, {expected} expected"
        pieces.append(f"{typical_name(entry)} ({shares})")
    of_words = f"Typically {', '.join(pieces)}. " if pieces else ""
    return of_words + (f"Its winners are {setting}. " if setting else "")


def _without_rule(
    verdict: str, terms: Sequence[Term], winners: int, area: Interval | None, rules: PatternRules
) -> str:  # fmt: skip
    """Say why there is no rule. What was only not confirmed is not said to be absent."""
    if verdict == SOURCE:
        pieces: list[str] = []
        for term in [term for term in terms if term.nuisance]:
            said = say(term, rules, MOST_CHARACTERS)
            # Only the first shares are named; the others follow in the same order.
            shares = _shares(term.share, term.baseline_share, is_named=not pieces)
            pieces.append(f"{said.lead} {said.body} ({shares[2:]})")
        which = f": sentences {'; '.join(pieces)}" if pieces else ""
        return f"{_sources(terms)} its winners{which}. No rule beyond that was confirmed."
    score = "" if area is None else f" in {percent(area.value)} of pairs ({percent(area.low)} to {percent(area.high)})"
    tends = (
        f"No single rule was confirmed, but together words and constructions tell a winner from other sentences of "
        f"its data set and length{score}."
    )
    unconfirmed = f"No rule was confirmed with its {counted(winners, 'winner')}."
    return {WEAK: TOO_FEW, NONE: NOTHING, TENDENCY: tends, UNCONFIRMED: unconfirmed}[verdict]


def _sources(terms: Sequence[Term]) -> str:
    """Return by which nuisance winners are predicted, as the beginning of a sentence.

    >>> long = Term("length", "at most 9 words", ["9"], False, 1.0, 0.5, 0.1, nuisance=True)
    >>> topic = Term("value", "has topic", ["topic"], True, 1.0, 0.5, 0.1, nuisance=True)
    >>> _sources([long]), _sources([long, topic]), _sources([])
    ('Length predicts', 'Length and whether *topic* is known predict', 'Data set and length predict')
    """
    found: list[str] = []
    for term in [term for term in terms if term.nuisance]:
        if term.kind == "value" and len(term.items) > 1:
            found.append("data set" if term.items[0] == "dataset" else term.items[0])
        elif term.kind in ("value", "length", "hub"):
            known = f"whether *{term.items[0]}* is known"
            found.append({"value": known, "length": "length", "hub": "how many neurons share a sentence"}[term.kind])
    usual = ["data set", "length"]
    names = [*(name for name in usual if name in found), *dict.fromkeys(n for n in found if n not in usual)] or usual
    text = f"{enumerated(names, 'and')} predict{'s' * (len(names) == 1)}"
    return text[0].upper() + text[1:]


def _called(in_sample: Shares, held_out: Shares) -> str:
    """Say which shares of the winners and of other sentences a rule finds: held out, and its own if they differ."""
    (recall, others), (own_recall, own_others) = held_out, in_sample
    low, high = sorted((others, own_others))
    if abs(recall - own_recall) <= SAME_SHARE and high <= max(SAME_FACTOR * low, low + SAME_OTHERS):
        return _shares(*held_out)
    return f"{_shares(*in_sample)}. The cards of the folds find {percent(recall)} and {percent(others)}"


def _shares(share: float | None, baseline_share: float | None, is_named: bool = True) -> str:
    if share is None or isnan(share):
        return ""
    of_winners, of_others = (" of its winners", " of other sentences") if is_named else ("", "")
    others = "" if baseline_share is None or isnan(baseline_share) else f", {percent(baseline_share)}{of_others}"
    return f": {percent(share)}{of_winners}{others}"


def _activation_text(model: Row, named: Sequence[str]) -> str:
    """Say how much of the activation the model surely explains over all sentences, and by what."""
    r2, low, r2_nuisance = (model.get(name) for name in ("r2", "r2_low", "r2_nuisance"))
    if r2 is None or low is None or not (r2 >= LEAST_SAID and low > 0):
        return ""
    if r2_nuisance is None or isnan(r2_nuisance):
        return f" Over all sentences {percent(r2)} of its activation is explained."
    nuisance = max(r2_nuisance, 0.0)
    language = enumerated(named, "and") if named else "words and constructions"
    parts = [("length and source", nuisance), (language, r2 - nuisance)]
    said = [(name, percent(part)) for name, part in parts if part >= LEAST_SAID]
    if len(said) == 2:
        (first, one), (second, other) = said
        return f" Over all sentences {first} explain {one} of its activation, and {second} {other} more."
    verb = "explains" if len(named) == 1 and said and said[0][0] == language else "explain"
    return "".join(f" Over all sentences {name} {verb} {part} of its activation." for name, part in said)
