"""How the literals of a score card combine: all of some, plus one, several or enough of the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from ops.arrays import Bools
from ops.facts.text import enumerated
from ops.literals.literal_words import Said

_MOST_COMBINED = 16  # literals of which all combinations are tried; with each further one they double
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def evidence_needed(weights: Sequence[float], intercept: float, threshold: float) -> float:
    """Return the sum that the absolute weights of the fulfilled literals must reach for a sentence to be a winner.

    A negated literal counts against a sentence that has it. This is equivalent to counting in favour of a sentence that
    lacks it, with an intercept lowered by the same amount.

    >>> evidence_needed([2.0, -1.5], intercept=-4.0, threshold=-2.0)
    3.5
    """
    return threshold - intercept - sum(weight for weight in weights if weight < 0)


class Bound(NamedTuple):
    """A literal's bound on a sentence's length: at most `words` words, or more than that if it is negated."""

    words: int
    negated: bool


@dataclass(frozen=True)
class Combination:
    """What a sentence must fulfil to be called a winner.

    The lists contain indices of literals. A negated literal holds for sentences without it.

    Attributes:
        required: literals that must all hold.
        others: further literals, of which at least `least` must hold.
        least: minimum number of `others` that must hold. None if some of them count for more than others, so that no
            single number is right, or if there are more than 16 literals.
        idle: literals that never change the decision, although they change its certainty.
    """

    required: list[int]
    others: list[int]
    least: int | None
    idle: list[int]

    @classmethod
    def of(
        cls, sizes: Sequence[float], needed: float | None, bounds: Sequence[Bound | None] = (), kept: int = -1
    ) -> Self:  # fmt: skip
        """Find how literals reach the required evidence. A required length that other required ones imply is omitted.

        Args:
            sizes: absolute weights of the literals.
            needed: see `evidence_needed`; None if it is unknown.
            bounds: the bound of each literal that is a length, None for any other literal; empty if there are no
                lengths.
            kept: the literal that is never omitted; -1 for none.
        """
        every = list(range(len(sizes)))
        unknown = cls(every, [], None, []) if len(every) == 1 else cls([], every, None, [])
        if needed is None or len(every) > _MOST_COMBINED:
            return unknown
        holds = np.arange(1 << len(every))[:, None] >> np.arange(len(every)) & 1 == 1
        # Thresholds are often the exact sum of some weights.
        reached = holds @ np.asarray(sizes, np.float64) >= needed - 1e-9 * max(1.0, abs(needed))
        can_be = _can_hold(holds, bounds)
        if reached[can_be].all() or not reached[can_be].any():
            return unknown
        required = [i for i in every if holds[reached & can_be, i].all()]
        places = np.arange(len(holds))
        idle = []
        for i in every:
            other = places ^ (1 << i)  # the same sets, except for this literal
            if not ((reached != reached[other]) & can_be & can_be[other]).any():
                idle.append(i)
        others = [i for i in every if i not in required and i not in idle]
        for i in [i for i in required if bounds and bounds[i] is not None]:
            rest = [j for j in required if j != i]
            if i != kept and holds[can_be & holds[:, rest].all(1), i].all():
                required = rest
        idle = [
            i for i in idle
            if (i == kept and i not in required) or not holds[can_be & holds[:, required].all(1), i].all()
        ]  # fmt: skip
        if not others:
            return cls(required, [], None, idle)
        with_required = holds[:, required].all(1) & can_be
        count = holds[with_required][:, others].sum(1)
        least = int(count[reached[with_required]].min())
        return cls(required, others, least if np.array_equal(reached[with_required], count >= least) else None, idle)

    def text(self, said: Sequence[Said]) -> str:
        """Return the condition as text to follow the word "sentences"; the group with the first literal comes first.

        Args:
            said: the literals in words, the most important first.
        """
        parts = []
        if self.required:
            parts.append((self.required[0], list_conditions([said[i] for i in self.required], "and")))
        if self.others:
            parts.append((self.others[0], self._some_of([said[i] for i in self.others])))
        text = ", and ".join(part for _, part in sorted(parts))
        idle = [said[i] for i in self.idle]
        # Any sentence has at most 9 or more than 7 words.
        conjunction = "and" if sum(own.lead == "of" for own in idle) > 1 else "or"
        return f"{text}, more so {list_conditions(idle, conjunction)}" if idle else text

    def _some_of(self, said: Sequence[Said]) -> str:
        if self.least == 1:
            return f"{'either ' * (len(said) > 1 and bool(self.required))}{list_conditions(said, 'or')}"
        nouns = enumerated([literal.noun for literal in said], "and")
        if self.least is None:
            return f"with enough of these: {nouns}"
        least = _NUMBERS[self.least] if self.least < len(_NUMBERS) else self.least
        return f"with at least {least} of these: {nouns}"


def _can_hold(holds: Bools, bounds: Sequence[Bound | None]) -> Bools:
    """Return which sets of literals can hold together, `[sets]`, given that a sentence has only one length.

    Args:
        holds: whether each literal is in each set, `[sets, literals]`.
        bounds: see `Combination.of`.
    """
    bounded = [(i, bound) for i, bound in enumerate(bounds) if bound is not None]
    if len(bounded) < 2:
        return np.ones(len(holds), np.bool_)
    lengths = {0, *(bound.words + more for _, bound in bounded for more in (0, 1))}
    possible = {tuple((words <= bound.words) != bound.negated for _, bound in bounded) for words in lengths}
    return np.array([tuple(row) in possible for row in holds[:, [i for i, _ in bounded]].tolist()])


def list_conditions(said: Sequence[Said], conjunction: str) -> str:
    """Return literals as a list in words. Literals that start with "with" come first and share that word."""
    own = [s for s in said if s.lead == "with"]
    pieces = [f"{'' if i else 'with '}{s.body}" for i, s in enumerate(own)]
    pieces += [f"{s.lead} {s.body}" for s in said if s.lead != "with"]
    return enumerated(pieces, conjunction)
