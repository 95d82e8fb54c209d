"""Where the dots and intervals of literals' lifts are drawn."""

import math

import pytest

from ops.report.drawings import NAMES, PLOT, lift_strips
from tests.unit.facts.made_up_audit import literal


def test_all_strips_share_an_axis_on_which_places_are_those_of_log_lifts() -> None:
    found = lift_strips([literal(1, 0, 1, [0.0, 2.0, None]), literal(1, 0, 2, [-1.0, 1.0, 0.5], negated=True)])
    (first, second) = found.strips
    assert (first["negated"], second["negated"], first["verdict"]) == (False, True, "local")
    (zero, two, unknown), (below, one, half) = first["marks"], second["marks"]
    assert zero.x == found.one
    assert unknown.x is None
    assert below.x is not None
    assert below.x < zero.x < half.x < one.x < two.x  # type: ignore[operator]
    step = (two.x - zero.x) / 2  # type: ignore[operator]
    assert one.x - zero.x == pytest.approx(step, abs=0.2)  # type: ignore[operator]
    assert (zero.x - zero.low, zero.high - zero.x) == pytest.approx((step, step), abs=0.2)
    assert two.high == found.left + PLOT == NAMES + PLOT, "it ends with the axis"
    assert [mark.is_above for mark in (zero, two, below, one)] == [False, True, False, False]
    assert [mark.y for mark in first["marks"]] == sorted({mark.y for mark in first["marks"]})
    assert max(x for x, _ in found.ticks) <= found.width
    assert {label: x for x, label in found.ticks}["1"] == found.one
    assert first["said"].startswith("books 1.00 (0.37 to 2.72), news 7.39 (2.72 to 20.1), tweets not known")


@pytest.mark.parametrize("value", [0.0, 30.0, -30.0, math.log(2)])
def test_the_axis_has_room_for_1_and_for_any_lift(value: float) -> None:
    found = lift_strips([literal(1, 0, 1, [value, None, None])])
    mark = found.strips[0]["marks"][0]
    assert mark.x is not None
    assert found.left <= mark.low <= mark.x <= mark.high <= found.left + PLOT
    assert found.left < found.one < found.left + PLOT
    assert len(found.ticks) >= 2
    assert all(found.left <= x <= found.left + PLOT for x, _ in found.ticks)
