"""Strip plots of the lift of an explanation's literals within each data set, as coordinates for SVG."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ops.facts.text import shorten
from ops.facts.verdicts import said_lifts

Row = dict[str, Any]

NAMES, PLOT, EDGE = 96, 196, 8  # width in pixels of the names, of the axis, and of the margin on the right
LINE, FOOT = 16, 16  # height in pixels of a data set's line, and of the axis labels
LETTERS = 14  # maximum number of letters of a data set's name
_LEAST = math.log(2)  # every axis shows at least log lifts of this size on both sides of 0
_MOST = math.log(1_000)
_TICKS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0)
_NEAR_TICKS = (0.5, 1.0, 2.0)


class Mark(NamedTuple):
    """One data set's lift: its short and full name, its line's centre `y`, and the positions of dot and interval.

    `x` is None if the lift is not known. `is_above` says whether the complete interval is above 1.
    """

    name: str
    whole: str
    y: int
    x: float | None
    low: float
    high: float
    is_above: bool


class Strips(NamedTuple):
    """The strips of a neuron and pole, with one axis: its left end, the position of lift 1, and ticks with labels.

    A strip is a literal's row with its `marks`, its `height`, and `said`, a description in words.
    """

    strips: list[Row]
    left: int
    one: float
    ticks: list[tuple[float, str]]
    width: int


def lift_strips(literals: Sequence[Row]) -> Strips:
    """Return the strips of some rows of audit/patterns/.

    The axis shows the logarithm of the lift and includes all lifts from a thousandth to 1,000. Intervals that extend
    beyond the axis are cut at its ends.
    """
    known = [value for row in literals for value in row["log_lifts"] if value is not None]
    low = max(min([-_LEAST, *known]), -_MOST)
    high = min(max([_LEAST, *known]), _MOST)
    room = 0.06 * (high - low)
    low, high = low - room, high + room

    def place(value: float) -> float:
        share: float = (min(max(value, low), high) - low) / (high - low)
        return round(NAMES + PLOT * share, 1)

    within = [tick for tick in _TICKS if low <= math.log(tick) <= high]
    ticks = within if len(within) > 1 else _NEAR_TICKS
    return Strips(
        [_strip(row, place) for row in literals],
        NAMES,
        place(0.0),
        [(place(math.log(tick)), f"{tick:,g}") for tick in ticks],
        NAMES + PLOT + EDGE,
    )


def _strip(row: Row, place: Callable[[float], float]) -> Row:
    marks = []
    columns = (row[name] for name in ("dataset_names", "log_lifts", "log_lifts_low", "log_lifts_high"))
    for number, (name, value, low, high) in enumerate(zip(*columns, strict=True)):
        y = LINE * number + LINE // 2
        if value is None:
            marks.append(Mark(shorten(name, LETTERS), name, y, None, 0.0, 0.0, False))
            continue
        low, high = (value if end is None else end for end in (low, high))
        marks.append(Mark(shorten(name, LETTERS), name, y, place(value), place(low), place(high), low > 0))
    return row | {"marks": marks, "height": LINE * len(marks) + FOOT, "said": said_lifts(row)}
