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


def draw_tree(pattern: str) -> Row:
    """Return a subtree pattern as a drawing: leaves from left to right, each parent centred above them.

    It has `nodes` with a `label` and its centre, `x` and `y`; `edges` as (x, y, x, y); and `width` and `height` in
    pixels.
    """
    nodes: list[Row] = []
    edges: list[tuple[float, float, float, float]] = []
    right = 0.0

    def add_node(tree: Tree, depth: int) -> tuple[float, float]:
        nonlocal right
        y = 14.0 + _LEVEL * depth
        width = _LETTER * len(tree.label) + _GAP
        if tree.children:
            below = [add_node(child, depth + 1) for child in tree.children]
            x = max((below[0][0] + below[-1][0]) / 2, width / 2)
            edges.extend((x, y + 5, to, down - 12) for to, down in below)
            right = max(right, x + width / 2)
        else:
            x = right + width / 2
            right += width
        nodes.append({"label": tree.label, "x": x, "y": y})
        return x, y

    add_node(read_pattern(pattern), 0)
    return {"nodes": nodes, "edges": edges, "width": right, "height": max(node["y"] for node in nodes) + 8}


def lift_strips(literals: Sequence[Row]) -> Row:
    """Return some rows of audit/patterns/ as strips along one axis: `left`, `one` (lift 1), `ticks`, and `width`.

    The axis shows the logarithm of the lift and includes all lifts from a thousandth to 1,000. Intervals that extend
    beyond the axis are cut at its ends. A strip is a literal's row with `marks`, `height`, and `said`, a description in
    words. A mark is a data set's lift: its short `name` and its `whole` one, `y` (its line's centre), `x` (None if the
    lift is not known), the ends of its interval, `low` and `high`, and `is_above`, whether all of it is above 1.
    """
    known = [value for row in literals for value in row["log_lifts"] if value is not None]
    low = max(min([-_LEAST, *known]), -_MOST)
    high = min(max([_LEAST, *known]), _MOST)
    room = 0.06 * (high - low)
    low, high = low - room, high + room

    def x_of(value: float) -> float:
        share: float = (min(max(value, low), high) - low) / (high - low)
        return round(NAMES + PLOT * share, 1)

    within = [tick for tick in _TICKS if low <= math.log(tick) <= high]
    ticks = within if len(within) > 1 else _NEAR_TICKS
    return {
        "strips": [_strip(row, x_of) for row in literals],
        "left": NAMES,
        "one": x_of(0.0),
        "ticks": [(x_of(math.log(tick)), f"{tick:,g}") for tick in ticks],
        "width": NAMES + PLOT + EDGE,
    }


def _strip(row: Row, x_of: Callable[[float], float]) -> Row:
    marks = []
    columns = (row[name] for name in ("dataset_names", "log_lifts", "log_lifts_low", "log_lifts_high"))
    for number, (name, value, low, high) in enumerate(zip(*columns, strict=True)):
        mark = {"name": shorten(name, LETTERS), "whole": name, "y": LINE * number + LINE // 2, "x": None}
        if value is not None:
            low, high = (value if end is None else end for end in (low, high))
            mark |= {"x": x_of(value), "low": x_of(low), "high": x_of(high), "is_above": low > 0}
        marks.append(mark)
    return row | {"marks": marks, "height": LINE * len(marks) + FOOT, "said": said_lifts(row)}
