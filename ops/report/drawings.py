"""The drawings on a page as coordinates for SVG: a histogram's bars, a subtree's nodes, and strips of lifts."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ops.facts.examples import read_pattern
from ops.facts.rows import Row
from ops.facts.text import shorten
from ops.facts.verdicts import said_lifts
from ops.penn import Tree

BARS = 64
_LEVEL, _LETTER, _GAP = 34, 7.5, 10
NAMES, PLOT, EDGE = 96, 196, 8  # width in pixels of the names, of the axis, and of the margin on the right
LINE, FOOT = 16, 16  # height in pixels of a data set's line, and of the axis labels
LETTERS = 14  # maximum number of letters of a data set's name
_LEAST = math.log(2)  # every axis shows at least log lifts of this size on both sides of 0
_MOST = math.log(1_000)
_TICKS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0)
_NEAR_TICKS = (0.5, 1.0, 2.0)


class Histogram(NamedTuple):
    """Bars of equal width over a range of activations; heights are counts of sentences, and the highest is 1."""

    heights: list[float]
    low: float
    high: float

    def place(self, value: float | None) -> float | None:
        """Return the position of a value between the ends, as a share of the range; None if it is outside the range."""
        if value is None or not self.low <= value <= self.high:
            return None
        return (value - self.low) / max(self.high - self.low, 1e-30)


def draw_histogram(neuron: dict[str, Any]) -> Histogram:
    """Return a neuron's distribution in bars of equal width, from its row of `neurons/`.

    Some bins are narrower and some are wider than the bars, so a bin's count is spread evenly over its width.
    """
    low, high = float(neuron["min"]), float(neuron["max"])
    if not high > low:
        return Histogram([1.0], low, high)
    inner = np.clip(np.asarray(neuron["histogram_edges"], np.float64), low, high)
    ends = np.concatenate([[low], inner, [high]])
    below = np.concatenate([[0], np.cumsum(neuron["histogram_counts"])])
    edges = np.linspace(low, high, BARS + 1)
    # Bins outside the range have no width. If several ends are equal, the last of them includes all smaller values.
    last = np.append(np.diff(ends) > 0, True)
    counts = np.diff(np.interp(edges, ends[last], below[last]))
    return Histogram((counts / counts.max()).tolist(), low, high)


class Node(NamedTuple):
    """A node of a drawn tree: its label and the coordinates of the label's centre."""

    label: str
    x: float
    y: float


class Drawing(NamedTuple):
    """A drawn tree: nodes, edges as (x, y, x, y), and its size in pixels."""

    nodes: list[Node]
    edges: list[tuple[float, float, float, float]]
    width: float
    height: float


def draw_tree(pattern: str) -> Drawing:
    """Return the positions of a subtree pattern's nodes: leaves from left to right, each parent centred above them."""
    nodes: list[Node] = []
    edges: list[tuple[float, float, float, float]] = []
    right = 0.0

    def place(tree: Tree, depth: int) -> tuple[float, float]:
        nonlocal right
        y = 14.0 + _LEVEL * depth
        width = _LETTER * len(tree.label) + _GAP
        if tree.children:
            below = [place(child, depth + 1) for child in tree.children]
            x = max((below[0][0] + below[-1][0]) / 2, width / 2)
            edges.extend((x, y + 5, to, down - 12) for to, down in below)
            right = max(right, x + width / 2)
        else:
            x = right + width / 2
            right += width
        nodes.append(Node(tree.label, x, y))
        return x, y

    place(read_pattern(pattern), 0)
    return Drawing(nodes, edges, right, max(node.y for node in nodes) + 8)


class Mark(NamedTuple):
    """One data set's lift: its short and full name, its line's centre `y`, and the positions of dot and interval.

    `x` is None if the lift is not known. `is_above` says whether the complete interval is above 1.
    """

    name: str
    whole: str
    y: int
    x: float | None = None
    low: float = 0.0
    high: float = 0.0
    is_above: bool = False


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
        mark = Mark(shorten(name, LETTERS), name, LINE * number + LINE // 2)
        if value is not None:
            low, high = (value if end is None else end for end in (low, high))
            mark = mark._replace(x=place(value), low=place(low), high=place(high), is_above=low > 0)
        marks.append(mark)
    return row | {"marks": marks, "height": LINE * len(marks) + FOOT, "said": said_lifts(row)}
