"""The sentence that explains a neuron: written by templates from its literals and their shares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isnan
from typing import Protocol

from ops.errors import counted
from ops.explain.combination import Bound, Combination, list_conditions
from ops.explain.literal_words import PatternRules, Term, say
from ops.explain.verdict import LEAST_AREA, LEAST_F1
from ops.schema.verdicts import NONE, RULE, SOURCE, TENDENCY, UNCONFIRMED, WEAK

MOST_CHARACTERS = 240
TOO_FEW = "Too few winners, or documents with winners, to tell."
NOTHING = f"No rule with an F1 of {LEAST_F1}, and no held-out score of {LEAST_AREA}."
TENDS = "No rule was confirmed, but its winners differ from sentences of their lengths and data sets."
NO_MORE = "nothing beyond them was confirmed"

LEAST_SAID = 0.005  # share of the variance; a smaller share is not mentioned
SHORTEST = 6  # number of characters that remain of a word that is cut

_MINED = PatternRules()  # the defaults of mine


def explanation_text(
    verdict: str,
    terms: Sequence[Term],
    *,
    winners: int,
    recall: float,
    called: float,
    r2: Mapping[str, float | None],
    needed: float | None = None,
    rules: PatternRules = _MINED,
) -> str:
    """Return an explanation in one or two sentences, at most 240 characters.

    Args:
        verdict: one of `ops.schema.verdicts.VERDICTS`.
        terms: the literals of the published card, in the card's order.
        winners: number of winners.
        recall, called: share of the winners, and of the other sentences, that the cards of the folds call winners.
        r2: `r2` and `r2_nuisance`: R2 of the activation model, and of nuisance literals alone; empty without a model.
        needed: the result of `evidence_needed`. If given, the text says how the literals combine.
        rules: the rules by which the patterns were mined.
    """
    range_text = _range_text(r2.get("r2"), r2.get("r2_nuisance"), is_rule=verdict == RULE)
    if verdict == RULE:
        bounds = [Bound(int(term.items[0]), term.negated) if term.kind == "length" else None for term in terms]
        rule = Combination.of([abs(term.weight) for term in terms], needed, bounds)
        return _fit(_CalledText(terms, rule, _shares(recall, called), rules), range_text)
    if verdict == SOURCE:
        return _fit(_SourceText([term for term in terms if term.nuisance], rules), range_text)
    unconfirmed = f"Nothing was confirmed with its {counted(winners, 'winner')}."
    return {WEAK: TOO_FEW, NONE: NOTHING, TENDENCY: TENDS, UNCONFIRMED: unconfirmed}[verdict] + range_text


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


class _Text(Protocol):
    """A text that can be shortened in steps."""

    @property
    def steps(self) -> int:
        """The number of things that can be omitted."""

    def of(self, step: int, most: int) -> str:
        """Return the text after `step` omissions, with at most `most` characters for each literal."""


def _fit(text: _Text, end: str) -> str:
    """Return a text with its end in at most 240 characters.

    Long names are replaced by codes. Then literals are omitted and counted, then words are cut, then the end is
    dropped.
    """
    lengths = [(step, most) for step in range(text.steps + 1) for most in (MOST_CHARACTERS, 60)]
    lengths += [(text.steps, most) for most in (40, 25, 15, SHORTEST)]
    found = (text.of(step, most) + end for step, most in lengths)
    fitting = next((own for own in found if len(own) <= MOST_CHARACTERS), None)
    return text.of(text.steps, SHORTEST) if fitting is None else fitting


@dataclass(frozen=True)
class _CalledText:
    """A text that says which sentences a score card calls winners, and of which share of all sentences this is true."""

    terms: Sequence[Term]
    rule: Combination
    shares: str
    rules: PatternRules

    @property
    def steps(self) -> int:
        """See `_Text`: the literals that never matter, then one literal after the other."""
        return bool(self.rule.idle) + self.rule.most_dropped

    def of(self, step: int, most: int) -> str:
        """See `_Text`."""
        said = [say(term, self.rules, most) for term in self.terms]
        dropped = max(step - bool(self.rule.idle), 0)
        text = f"Sentences {self.rule.text(said, dropped)}{self.shares}"
        if step or not self.rule.idle:
            return text
        return f"{text} More so {list_conditions([said[i] for i in self.rule.idle], 'or')}."


@dataclass(frozen=True)
class _SourceText:
    """A text that lists the nuisance literals, each with its own shares."""

    nuisance: Sequence[Term]
    rules: PatternRules

    @property
    def steps(self) -> int:
        """See `_Text`: one literal after the other."""
        return max(len(self.nuisance) - 1, 0)

    def of(self, step: int, most: int) -> str:
        """See `_Text`."""
        pieces: list[str] = []
        for term in self.nuisance[: len(self.nuisance) - step]:
            said = say(term, self.rules, most)
            # Only the first shares are named; the others follow in the same order.
            shares = _shares(term.share, term.baseline_share, is_named=not pieces)
            pieces.append(f"{said.lead} {said.body} ({shares[2:-1]})")
        pieces += [counted(step, "more condition")] if step else []
        which = f": sentences {'; '.join(pieces)}" if pieces else ""
        return f"Length and source predict its winners{which}; {NO_MORE}."


def _shares(share: float | None, baseline_share: float | None, is_named: bool = True) -> str:
    if share is None or isnan(share):
        return "."
    of_winners, of_others = (" of its winners", " of other sentences") if is_named else ("", "")
    others = "" if baseline_share is None or isnan(baseline_share) else f", {percent(baseline_share)}{of_others}"
    return f": {percent(share)}{of_winners}{others}."


def _range_text(r2: float | None, r2_nuisance: float | None, is_rule: bool) -> str:
    """Describe the activation model: how much it explains, and how much of that goes beyond nuisance."""
    if r2 is None or isnan(r2):
        return ""
    if r2 < LEAST_SAID:
        return " Explains none of its activation." if is_rule else ""
    said = "Explains {} of its activation" if is_rule else "Over its whole range {} is explained"
    text = f" {said.format(percent(r2))}"
    if r2_nuisance is None or isnan(r2_nuisance):
        return f"{text}."
    beyond = r2 - max(r2_nuisance, 0.0)
    part = "none of it" if beyond < LEAST_SAID else "all of it" if percent(beyond) == percent(r2) else percent(beyond)
    return f"{text}, {part} beyond length and source."
