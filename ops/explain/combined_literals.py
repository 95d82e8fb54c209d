"""How the literals of a score card combine: all of some, and one, several or enough of others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.explain.literal_words import Said

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def evidence_needed(weights: Sequence[float], intercept: float, threshold: float) -> float:
    """Return how much the sizes of the weights of the literals that hold as stated must add up to, for a winner.

    A negated literal speaks against a sentence that has it. That is the same as speaking for one that lacks it, from
    an intercept as much lower.

    >>> evidence_needed([2.0, -1.5], intercept=-4.0, threshold=-2.0)
    3.5
    """
    return threshold - intercept - sum(weight for weight in weights if weight < 0)


@dataclass(frozen=True)
class Combination:
    """What a sentence must fulfil to be called a winner, of literals as stated; the lists are their places.

    Attributes:
        required: each of these must hold.
        others: and so many of these.
        least: how many; None where some count for more than others, so that no number says it.
        idle: these change nothing, though they change how surely a sentence is a winner.
    """

    required: list[int]
    others: list[int]
    least: int | None
    idle: list[int]

    @classmethod
    def of(cls, sizes: Sequence[float], needed: float | None) -> Self:
        """Return how literals whose weights have these sizes reach what is needed; None: that is not known."""
        every = list(range(len(sizes)))
        unknown = cls(every, [], None, []) if len(every) == 1 else cls([], every, None, [])
        if needed is None:
            return unknown
        holds = np.arange(1 << len(every))[:, None] >> np.arange(len(every)) & 1 == 1
        # Thresholds are often the sum of just these weights.
        reached = holds @ np.asarray(sizes, np.float64) >= needed - 1e-9 * max(1.0, abs(needed))
        if reached.all() or not reached.any():
            return unknown
        required = [i for i in every if holds[reached, i].all()]
        places = np.arange(len(holds))
        idle = [i for i in every if np.array_equal(reached, reached[places ^ (1 << i)])]
        others = [i for i in every if i not in required and i not in idle]
        if not others:
            return cls(required, [], None, idle)
        own = holds[:, required].all(1)
        count = holds[own][:, others].sum(1)
        least = int(count[reached[own]].min())
        return cls(required, others, least if np.array_equal(reached[own], count >= least) else None, idle)

    @property
    def most_dropped(self) -> int:
        """The most literals that a text can leave out: all but the first required one and the first of the others."""
        return max(len(self.required) - 1, 0) + max(len(self.others) - 1, 0)

    def text(self, said: Sequence[Said], dropped: int = 0) -> str:
        """Return what must be fulfilled, to follow "sentences"; the last `dropped` literals are only counted."""
        of_others = min(dropped, max(len(self.others) - 1, 0))
        of_required = min(dropped - of_others, max(len(self.required) - 1, 0))
        required = [said[i] for i in self.required[: len(self.required) - of_required]]
        others = [said[i] for i in self.others[: len(self.others) - of_others]]
        first = list_conditions(required, "and", of_required) if required else ""
        if not others:
            return first
        nouns = _joined([own.noun for own in others], "and", of_others)
        if self.least is None:
            second = f"with enough of {nouns}"
        elif self.least > 1:
            least = _NUMBERS[self.least] if self.least < len(_NUMBERS) else self.least
            second = f"with at least {least} of {nouns}"
        else:
            second = f"{'either ' * bool(first)}{list_conditions(others, 'or', of_others)}"
        return f"{first}, and {second}" if first else second


def list_conditions(said: Sequence[Said], conjunction: str, dropped: int = 0) -> str:
    """Return literals in a row, those that begin with "with" first, which is said once; `dropped` more are counted."""
    own = [s for s in said if s.lead == "with"]
    pieces = [f"{'' if i else 'with '}{s.body}" for i, s in enumerate(own)]
    pieces += [f"{s.lead} {s.body}" for s in said if s.lead != "with"]
    return _joined(pieces, conjunction, dropped)


def _joined(pieces: Sequence[str], conjunction: str, dropped: int) -> str:
    pieces = [*pieces, *([f"{dropped} more"] if dropped else [])]
    return f"{', '.join(pieces[:-1])} {conjunction} {pieces[-1]}" if len(pieces) > 1 else pieces[0]
