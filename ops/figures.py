"""Figures: their panels with axes in common, and their files, each as PNG and as SVG put in place in one step."""

from collections.abc import Callable, Mapping

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ops.storage.store import Store

DPI = 150
PANEL_COLUMNS = 4


def save_figure(store: Store, name: str, figure: Figure) -> None:
    """Commit a figure as `name`.png and `name`.svg; the same figure gives the same bytes."""
    # Without a fixed salt the SVG's ids, and without None its date, would differ from run to run.
    with matplotlib.rc_context({"svg.hashsalt": "neuron-atlas"}):
        store.commit(f"{name}.png", lambda path: figure.savefig(path, format="png", dpi=DPI))
        store.commit(f"{name}.svg", lambda path: figure.savefig(path, format="svg", dpi=DPI, metadata={"Date": None}))


def save_figures(store: Store, folder: str, drawings: Mapping[str, Callable[[], Figure]]) -> list[str]:
    """Draw each figure, commit it as `folder`/name.png and .svg, and return the files' names."""
    # Ticks are made only when a figure is saved, so the size of the letters must hold until then.
    with matplotlib.rc_context({"font.size": 9}):
        for name, draw in drawings.items():
            save_figure(store, f"{folder}/{name}", draw())
    return [f"{folder}/{name}.{kind}" for name in drawings for kind in ("png", "svg")]


def panels(count: int, title: str, square: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a figure with `count` panels that share their axes, and the panels, row by row.

    Args:
        count: number of panels; what is left of the last row stays empty.
        title: of the whole figure.
        square: make the panels about as high as wide.
    """
    columns = min(count, PANEL_COLUMNS if count != 6 else 3)
    rows = -(-count // columns)
    size = (1.0 + 2.9 * columns, 0.9 + (2.9 if square else 2.4) * rows)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[count:]:
        axes.set_axis_off()
    figure.suptitle(title, fontsize=11)
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
