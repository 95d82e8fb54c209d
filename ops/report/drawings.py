"""The drawings on a page: the coordinates of a histogram's bars and of a subtree's nodes, for SVG."""

from typing import Any, NamedTuple

import numpy as np

from ops.facts.examples import read_pattern
from ops.penn import Tree

BARS = 64
_LEVEL, _LETTER, _GAP = 34, 7.5, 10


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
            x = (below[0][0] + below[-1][0]) / 2
            x = max(x, width / 2)
            edges.extend((x, y + 5, to, down - 12) for to, down in below)
            right = max(right, x + width / 2)
        else:
            x = right + width / 2
            right += width
        nodes.append(Node(tree.label, x, y))
        return x, y

    place(read_pattern(pattern), 0)
    return Drawing(nodes, edges, right, max(node.y for node in nodes) + 8)
