"""Heat maps of numbers, maps of points by group, and texts next to points."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.image import AxesImage
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from ops.arrays import Floats
from ops.figures.lines import Names
from ops.figures.style import COLOURS, GREY, GROUND, INK, LETTERS, LIGHT_LETTERS_FROM, PALE, SEQUENTIAL, looks

_ANGLES = np.pi * np.arange(0.5, 2.5, 0.25)


def heat_map(axes: Axes, values: Floats, low: float, high: float, digits: int | None = None, **look: Any) -> AxesImage:
    """Draw numbers `[rows, columns]` as colours from `low` to `high`, written into their cells if `digits` are given.

    Numbers can be read on the default colours. A cell without a number (NaN) stays empty.
    """
    look = {"cmap": SEQUENTIAL, "interpolation": "nearest", **look}
    image = axes.imshow(np.ma.masked_invalid(values), vmin=low, vmax=high, **look)
    if digits is not None:
        light_from = low + LIGHT_LETTERS_FROM * (high - low)
        for (y, x), value in np.ndenumerate(values):
            if np.isfinite(value):
                ink = GROUND if value >= light_from else INK
                text = f"{round(float(value), digits) + 0.0:.{digits}f}"
                axes.text(x, y, text, ha="center", va="center", color=ink, fontsize=LETTERS)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return image


def colour_bar(image: ScalarMappable, grid: Sequence[Axes], label: str, **look: Any) -> Colorbar:
    """Draw what the colours of an image mean below the panels of a figure."""
    look = {"location": "bottom", "aspect": 40, "fraction": 0.05, **look}
    return grid[0].figure.colorbar(image, ax=grid, label=label, **look)  # type: ignore[union-attr]


def largest(groups: Sequence[Any], most: int = len(COLOURS)) -> dict[Any, str]:
    """Return the largest groups and their names with their sizes, largest first; None is no group.

    >>> largest(["b", "a", "b", None], 1)
    {'b': 'b, 2'}
    """
    counts = Counter(group for group in groups if group is not None)
    return {value: f"{value}, {n:,}" for value, n in sorted(counts.items(), key=lambda own: (-own[1], own[0]))[:most]}


def scatter(axes: Axes, points: Floats, groups: Sequence[Any], named: Names, size: float = 4.0) -> None:
    """Draw points `[n, 2]` with a colour and a marker for each named group; all other points are grey, below them."""
    group = np.array(groups, object)
    rest = points[~np.isin(group, np.array(list(named), object))]
    axes.scatter(rest[:, 0], rest[:, 1], s=size, color=PALE, linewidths=0, rasterized=True)
    for (value, name), look in zip(named.items(), looks(len(named)), strict=True):
        members = points[group == value]
        axes.scatter(
            members[:, 0], members[:, 1], s=size, color=look["color"], marker=look["marker"], linewidths=0, alpha=0.8,
            label=name, rasterized=True,
        )  # fmt: skip
    axes.set(xticks=[], yticks=[])
    axes.margins(0.06)


def label_points(axes: Axes, points: Floats, texts: Sequence[str]) -> None:
    """Write a text next to each point `[n, 2]` of a panel where it covers the least of other texts and points.

    Set the limits of the panel and the size of its figure before the call, because the places depend on them.
    """
    figure = axes.figure
    FigureCanvasAgg(figure)  # type: ignore[arg-type]
    figure.draw_without_rendering()  # type: ignore[union-attr]
    inside, at, dot = axes.get_window_extent(), axes.transData.transform(points), figure.dpi / 72
    taken = np.hstack([at - 2 * dot, at + 2 * dot])
    ways = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
    for point, spot, text in zip(points, at, texts, strict=True):
        note = axes.annotate(
            text, tuple(point), (0, 0), textcoords="offset points", fontsize=LETTERS, ha="center", va="center",
            path_effects=[withStroke(linewidth=2, foreground=GROUND)],
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 2},
        )  # fmt: skip
        note.set_in_layout(False)
        box = Text.get_window_extent(note)
        half = np.array([box.width, box.height]) / 2
        offsets = np.vstack([ways * (half + near * dot) for near in (3, 8, 14, 22, 30)])
        low, high = spot + offsets - half, spot + offsets + half
        outside = np.maximum(inside.min - low, 0).sum(1) + np.maximum(high - inside.max, 0).sum(1)
        sides = np.minimum(high[:, None], taken[:, 2:]) - np.maximum(low[:, None], taken[:, :2])
        # Of equally free places, argmin takes the first, which is the nearest.
        best = int((3 * outside * half[1] + np.maximum(sides, 0).prod(2).sum(1)).argmin())
        note.set_position((offsets[best][0] / dot, offsets[best][1] / dot))
        taken = np.vstack([taken, np.concatenate([low[best], high[best]])])
