"""How much is known about a neuron and pole, as a one-word verdict."""

from dataclasses import dataclass
from functools import cached_property

from ops.schema.verdicts import NONE, RULE, SOURCE, TENDENCY, UNCONFIRMED, WEAK
from ops.statistics.interval import UNDEFINED, Interval
from ops.statistics.ratio import Ratio

LEAST_WINNERS, LEAST_DOCUMENTS, LEAST_FOLDS = 20, 10, 3
LEAST_F1, LEAST_AREA = 0.1, 0.55  # the smallest F1 of a rule, and the smallest held-out area of a tendency
TIMES, MORE = 2.0, 0.1  # a rule's F1 is this many times its best control, or this much above it


@dataclass(frozen=True)
class Evidence:
    """What a verdict compares.

    Attributes:
        winners, documents, folds: number of winners, of their documents, and of folds with winners.
        too_many: whether winners are more than half of the scored sentences.
        f1: F1 of the cards of the folds.
        chance: F1 of calling every sentence a winner.
        nuisance, matched: F1 of the cards of nuisance literals alone, and of the cards of a matched set; the latter is
            None if there is none.
        finds: whether the published card has a literal of language or a label.
        area: `auc` of `scores/`, in which winners are compared with sentences like them; None without scores.
    """

    winners: int
    documents: int
    folds: int
    too_many: bool
    f1: Ratio
    chance: float
    nuisance: Ratio
    matched: Ratio | None
    finds: bool
    area: Interval | None

    @cached_property
    def differences(self) -> list[Interval]:
        """How far F1 is above chance, above nuisance and above the matched set."""
        controls: list[Ratio | float] = [self.chance, self.nuisance]
        controls += [] if self.matched is None else [self.matched]
        return [self.f1.minus(control) for control in controls]

    def margin(self) -> Interval:
        """Return the smallest of these differences."""
        return min(self.differences, key=lambda one: one.value, default=UNDEFINED)

    def is_rule(self) -> bool:
        """Return whether the cards beat each control by its interval, and by enough to matter."""
        matched = [] if self.matched is None else [self.matched.value]
        best, f1 = max([self.chance, self.nuisance.value, *matched]), self.f1.value
        above = all(one.low > 0 for one in self.differences)
        return self.finds and above and f1 >= LEAST_F1 and (f1 >= TIMES * best or f1 >= best + MORE)

    def verdict(self) -> str:
        """Return the verdict, by the first of these rules that applies.

        1. `weak`: fewer than 20 winners, 10 documents or 3 folds with winners, or more winners than half of the
           sentences. Nothing is claimed.
        2. `rule`: F1 is above each control by the interval of the difference, is at least 0.1, and is at least twice
           the best control or 0.1 above it; the published card has a literal of language or a label.
        3. `tendency`: the held-out area is at least 0.55, and above 0.5 by its interval. It compares winners with other
           sentences of their data sets and lengths. (That of one matched set is no reference: among 480 neurons and
           poles it had a standard deviation of 0.030 between two seeds, the area itself one of 0.007.)
        4. `source`: nuisance literals alone beat chance by their interval, and are at least twice as high.
        5. `none`: the upper ends of F1 and of the held-out area are below 0.1 and 0.55.
        6. `unconfirmed` in all other cases.

        Without scores, 3 and 5 do not apply.
        """
        if self.too_many or self.winners < LEAST_WINNERS:
            return WEAK
        if self.documents < LEAST_DOCUMENTS or self.folds < LEAST_FOLDS:
            return WEAK
        if self.is_rule():
            return RULE
        if self.area is not None and self.area.low > 0.5 and self.area.value >= LEAST_AREA:
            return TENDENCY
        if self.nuisance.minus(self.chance).low > 0 and self.nuisance.value >= TIMES * self.chance:
            return SOURCE
        if self.area is not None and self.f1.interval().high < LEAST_F1 and self.area.high < LEAST_AREA:
            return NONE
        return UNCONFIRMED


def by_chance(winners: int, sentences: int) -> float:
    """Return the F1 of calling all of `sentences` winners.

    >>> round(by_chance(100, 1_000), 4)
    0.1818
    """
    return 2 * winners / (sentences + winners)
