"""Figures: their style and panels, and their files, each as PNG, SVG and PDF put in place in one step."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ops.storage.store import Store

DPI = 300
PANEL_COLUMNS = 4
COLUMN, PAGE = 85 / 25.4, 180 / 25.4  # widths that journals print, in inches
LETTERS = 7  # points of the smallest letters in print
TITLE_LETTERS = 100  # that a title of a page's width has room for
STYLE: dict[Any, Any] = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "figure.titlesize": 9,
    "xtick.labelsize": LETTERS, "ytick.labelsize": LETTERS, "legend.fontsize": LETTERS,
    "lines.linewidth": 1.0, "lines.markersize": 3, "axes.linewidth": 0.6, "legend.frameon": False,
}  # fmt: skip
# Okabe and Ito's colours, which the colour-blind can tell, but for yellow, which no print shows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_DASHES = ("-", "--", ":", "-.")
# Letters stay letters, and the same figure gives the same bytes.
_FILES: dict[Any, Any] = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "neuron-atlas"}
_UNDATED: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}

Arguments = ParamSpec("Arguments")


def figure_files(name: str) -> list[str]:
    """Return the names of a figure's files."""
    return [f"{name}.{kind}" for kind in _UNDATED]


def save_figure(store: Store, name: str, figure: Figure) -> list[str]:
    """Commit a figure as `name`.png, .svg and .pdf, and return these names; the same figure gives the same bytes."""
    with matplotlib.rc_context(_FILES):
        # Where everything stands is found once, not again for every kind of file.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for kind, undated in _UNDATED.items():

            def write(path: str, kind: str = kind, undated: dict[str, None] = undated) -> None:
                figure.savefig(path, format=kind, dpi=DPI, metadata=undated)

            store.commit(f"{name}.{kind}", write)
    return figure_files(name)


def for_print(draw: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Make a function draw in the style of `STYLE`, whatever the style is when its figure is saved."""

    @wraps(draw)
    def styled(*given: Arguments.args, **named: Arguments.kwargs) -> Figure:
        with matplotlib.rc_context(STYLE):
            figure = draw(*given, **named)
        for axes in figure.axes:
            # Ticks are made when a figure is saved.
            axes.tick_params(which="both", labelsize=LETTERS, width=0.6)
        return figure

    return styled


def distinct_lines(count: int) -> list[dict[str, Any]]:
    """Return the looks of so many lines that have no order, no two of 28 alike in colour and dashes."""
    n = len(COLOURS)
    return [{"color": COLOURS[i % n], "linestyle": _DASHES[i // n % len(_DASHES)]} for i in range(count)]


def save_figures(store: Store, folder: str, drawings: Mapping[str, Callable[[], Figure]]) -> list[str]:
    """Draw each figure, commit it as the files of `folder`/name, and return their names."""
    # Ticks are made only when a figure is saved, so the size of the letters must hold until then.
    with matplotlib.rc_context({"font.size": 9}):
        return [file for name, draw in drawings.items() for file in save_figure(store, f"{folder}/{name}", draw())]


def titled(title: str, model: str) -> str:
    """Return a title that names a model, on a line of its own where one is too short.

    >>> titled("Norms", "sample")
    'Norms, sample'
    >>> titled("Norms", "")
    'Norms'
    """
    if not model:
        return title
    return f"{title}, {model}" if len(title) + len(model) < TITLE_LETTERS else f"{title}\n{model}"


def panels(count: int, title: str, square: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a figure as wide as a page with `count` panels that share their axes, and the panels, row by row.

    Args:
        count: number of panels; what is left of the last row stays empty.
        title: of the whole figure.
        square: make the panels about as high as wide.
    """
    columns = min(count, PANEL_COLUMNS if count != 6 else 3)
    rows = -(-count // columns)
    wide = min((PAGE - 0.5) / columns, 2.6)
    figure = Figure(figsize=(PAGE, 1.0 + wide * (1.05 if square else 0.85) * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[count:]:
        axes.set_axis_off()
    figure.suptitle(title)
    return figure, list(grid.flat[:count])


def label_outer(all_axes: list[Axes], x: str, y: str) -> None:
    """Name the axes of a figure that `panels` made: `x` at the lowest ones, `y` at the leftmost."""
    columns = all_axes[0].get_gridspec().ncols  # type: ignore[union-attr]
    for i, axes in enumerate(all_axes):
        if i % columns == 0:
            axes.set_ylabel(y)
        if i + columns >= len(all_axes):
            axes.set_xlabel(x)
            axes.tick_params(labelbottom=True)
