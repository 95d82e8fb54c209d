"""Every rule of the verdict, by cases: what is changed in a good rule, and the verdict that follows."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ops.explain.verdict import Evidence
from ops.schema.verdicts import VERDICTS
from ops.statistics.interval import Interval
from ops.statistics.ratio import Ratio

DOCUMENTS = 60


def measured(value: float, error: float = 0.01, documents: int = DOCUMENTS) -> Ratio:
    """Return a ratio with about this standard error, of documents that vary alike and have nothing in common."""
    if math.isnan(value):
        return Ratio.of(np.arange(0), np.zeros(0), np.zeros(0))
    codes = np.arange(documents) + int(1e6 * value)
    swing = np.resize([1.0, -1.0], documents) * error / math.sqrt(documents)
    return Ratio(value, codes, swing, documents - 1.0)


GOOD = Evidence(
    winners=100, documents=DOCUMENTS, folds=10, too_many=False, f1=measured(0.4), chance=0.02, nuisance=measured(0.15),
    matched=measured(0.1), finds=True, area=None,
)  # fmt: skip


def empty(documents: int) -> Ratio:
    """Return the F1 of cards that call nothing a winner."""
    return Ratio.of(np.arange(documents), np.zeros(documents), np.ones(documents), hit=2.0)


LITTLE = {"f1": measured(0.05), "nuisance": measured(0.03), "matched": measured(0.02)}
TENDS, TENDS_LITTLE = Interval(0.58, 0.52, 0.64), Interval(0.54, 0.51, 0.57)
UNSURE, NOTHING = Interval(0.58, 0.49, 0.67), Interval(0.5, 0.46, 0.54)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "rule"),
        # Too few winners, documents or folds, or too many winners, and nothing is claimed.
        ({"winners": 19}, "weak"), ({"winners": 20}, "rule"), ({"documents": 9}, "weak"), ({"documents": 10}, "rule"),
        ({"folds": 2}, "weak"), ({"folds": 3}, "rule"), ({"too_many": True, "area": TENDS}, "weak"),
        # F1 is above each control by its interval.
        ({"f1": measured(0.4, 0.2)}, "source"), ({"nuisance": measured(0.15, 0.2)}, "unconfirmed"),
        ({"matched": measured(0.2, 0.15)}, "source"), ({"matched": None}, "rule"),
        ({"matched": measured(0.41)}, "source"), ({"chance": 0.45}, "unconfirmed"),
        ({"f1": measured(math.nan), "nuisance": measured(math.nan)}, "unconfirmed"),
        ({"f1": measured(0.4, 0.01, 9)}, "source"),
        # It is at least 0.1, and at least twice the best control or 0.1 above it.
        ({"f1": measured(0.1), "nuisance": measured(0.04), "matched": measured(0.03)}, "rule"),
        ({"f1": measured(0.099), "nuisance": measured(0.02), "matched": measured(0.02)}, "unconfirmed"),
        ({"f1": measured(0.29)}, "rule"), ({"f1": measured(0.26)}, "rule"), ({"f1": measured(0.24)}, "source"),
        ({"f1": measured(0.18), "nuisance": measured(0.09), "matched": measured(0.02)}, "rule"),
        ({"f1": measured(0.17), "nuisance": measured(0.09), "matched": measured(0.02)}, "source"),
        ({"f1": measured(0.8), "nuisance": measured(0.65)}, "rule"),
        ({"f1": measured(0.8), "nuisance": measured(0.2), "matched": measured(0.71)}, "source"),
        # The published card says something of language, or a label.
        ({"finds": False}, "source"), ({"finds": False, "area": TENDS}, "tendency"),
        # The held-out area.
        ({**LITTLE, "area": TENDS}, "tendency"), ({**LITTLE, "area": Interval(0.55, 0.51, 0.59)}, "tendency"),
        ({**LITTLE, "area": TENDS_LITTLE}, "unconfirmed"), ({**LITTLE, "area": UNSURE}, "unconfirmed"),
        ({"area": NOTHING}, "rule"),
        # Nuisance alone beats chance by its interval, and is twice as high.
        ({"finds": False, "area": NOTHING}, "source"), ({"finds": False, "chance": 0.08}, "unconfirmed"),
        ({"finds": False, "nuisance": measured(0.15, 0.08)}, "unconfirmed"),
        # Both upper ends are below the floors.
        ({**LITTLE, "area": NOTHING}, "none"),
        ({**LITTLE, "f1": measured(0.05, 0.03), "area": NOTHING}, "unconfirmed"),
        ({**LITTLE, "area": Interval(0.5, 0.44, 0.56)}, "unconfirmed"),
        ({**LITTLE, "nuisance": measured(0.06), "area": NOTHING}, "source"),
        # Few winners of which none is called show no spread, and little else.
        ({**LITTLE, "f1": empty(60), "area": NOTHING}, "unconfirmed"),
        ({**LITTLE, "f1": empty(80), "area": NOTHING}, "none"),
        # Without scores there is neither a tendency nor none.
        ({**LITTLE, "area": None}, "unconfirmed"),
        ({**LITTLE, "area": Interval(math.nan, math.nan, math.nan)}, "unconfirmed"),
    ],
)  # fmt: skip
def test_the_first_rule_that_applies_decides(changed: dict[str, object], expected: str) -> None:
    assert replace(GOOD, **changed).verdict() == expected
    assert expected in VERDICTS


def test_the_margin_is_the_smallest_difference_with_its_own_interval() -> None:
    assert GOOD.margin() == GOOD.f1.minus(GOOD.nuisance)
    for name in ("matched", "nuisance"):
        own = replace(GOOD, **{name: measured(0.35, 0.05)})
        assert own.margin() == own.f1.minus(measured(0.35, 0.05))
    assert replace(GOOD, chance=0.3).margin().value == pytest.approx(0.1)
