"""The panels of a figure, its labels, and its legend below them."""

from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from ops.figures.style import LINE, WIDTH, titled

_COLUMNS = {1: 1, 2: 2, 4: 2}  # columns of so many panels; any other number has three
_HEIGHTS = {1: 2.4, 2: 1.6, 3: 1.25}  # height of a panel in inches, by the number of columns
_TITLE, _LETTER = 0.17, 0.07  # height in inches of a line of letters, and of a letter of a text that is upright
_LEGEND_DOTS = 16.0  # area of a dot in the legend of a map, whatever its size in the map


def panels(
    titles: list[str], title: str, own_scales: bool = False, columns: int = 0, height: float = 0.0
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each title, and the panels, row by row; they share their axes.

    Args:
        titles: the panels' titles; without any, there is one panel without a title.
        own_scales: give each panel its own axes.
        columns: number of panels in a row, if it should not follow from their number.
        height: height of a panel in inches, if it should not follow from the number of columns.
    """
    count = max(len(titles), 1)
    columns = columns or _COLUMNS.get(count, 3)
    rows = -(-count // columns)
    wrapped = [fill(text, LINE // columns - 2) for text in titles]
    lines = max((text.count("\n") + 1 for text in wrapped if text), default=0)
    size = (WIDTH, 0.9 + rows * ((height or _HEIGHTS[columns]) + _TITLE * lines))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, sharex=not own_scales, sharey=not own_scales, squeeze=False)
    for axes in grid.flat[count:]:
        axes.remove()
    for i, axes in enumerate(grid.flat[:count]):
        axes.set_title(wrapped[i] if wrapped else "")
        if i + columns >= count:
            axes.tick_params(labelbottom=True)
    figure.suptitle(titled(title))
    return figure, list(grid.flat[:count])


def finish(figure: Figure, x_label: str = "", y_label: str = "") -> Figure:
    """Label the lowest panels and the left side of a figure, put one legend of all panels below, and return it.

    The figure grows by the height of its legend and of labels that are written upright.
    """
    shown = [axes for axes in figure.axes if axes.axison and axes.get_label() != "<colorbar>"]
    columns = shown[0].get_gridspec().ncols  # type: ignore[union-attr]
    for axes in shown[-columns:]:
        axes.set_xlabel(fill(x_label, LINE // columns))
    for axes in shown:
        axes.set_ylabel(fill(axes.get_ylabel(), 30))
    if y_label:
        figure.supylabel(fill(y_label, 40), fontsize=8)
    upright = [[len(t.get_text()) for t in axes.get_xticklabels() if t.get_rotation()] for axes in shown]
    letters = sum(
        max(max(lengths, default=0) for lengths in upright[i : i + columns]) for i in range(0, len(shown), columns)
    )
    handles = {text: handle for axes in figure.axes for handle, text in zip(*axes.get_legend_handles_labels())}  # noqa: B905
    in_a_row = min(len(handles), max(LINE // (max(map(len, handles), default=0) + 6), 1))
    lines = -(-len(handles) // max(in_a_row, 1))
    figure.set_figheight(figure.get_figheight() + _LETTER * letters + _TITLE * lines)
    if handles:
        legend = figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=in_a_row)
        for dots in legend.legend_handles:
            if isinstance(dots, PathCollection):
                dots.set_sizes([_LEGEND_DOTS])
                dots.set_alpha(1)
    return figure


def set_scale(axes: Axes, which: str, kind: str) -> None:
    """Set the scale of the axis `x` or `y` of a panel, and of the panels that share it, once all is drawn in them.

    `zero` begins at 0, `share` runs from 0 to 1, and `log` is logarithmic with plain numbers unless the values differ
    too little. An empty text leaves the axis as it is.
    """
    if kind == "zero":
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
    elif kind == "share":
        axes.set_ylim(-0.02, 1.02)
    elif kind == "log":
        shared = axes.get_shared_x_axes() if which == "x" else axes.get_shared_y_axes()
        ends = np.array([getattr(panel.dataLim, f"interval{which}") for panel in shared.get_siblings(axes)])
        logarithmic(axes, which, ends.min(), ends.max())


def logarithmic(axes: Axes, which: str, low: float, high: float) -> None:
    """Make the axis `x` or `y` of a panel logarithmic, with plain numbers, unless its values differ too little."""
    if not high > 3 * low > 0:
        return
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 10 * low else (1, 3) if high < 100 * low else (1,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())
