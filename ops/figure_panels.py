"""Figures of several panels with axes in common, and the colours of the types of tokens."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ops.psi.token_types import TYPES

# Okabe and Ito's colours, which people with any colour vision tell apart.
TYPE_COLOURS = dict(zip(TYPES, ("#0072B2", "#56B4E9", "#E69F00", "#009E73", "#999999", "#D55E00"), strict=True))
PANEL_COLUMNS = 4


def panels(count: int, title: str, square: bool = False) -> tuple[Figure, list[Axes]]:
    """Make a figure of as many panels with axes in common; what is left of the last row stays empty."""
    columns = min(count, PANEL_COLUMNS if count != 6 else 3)
    rows = -(-count // columns)
    size = (1.0 + 2.9 * columns, 0.9 + (2.9 if square else 2.4) * rows)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[count:]:
        axes.set_axis_off()
    figure.suptitle(title, fontsize=11)
    return figure, list(grid.flat[:count])


def label_outer(axes_of: list[Axes], x: str, y: str) -> None:
    """Name the axes of the leftmost and of the lowest panels."""
    columns = axes_of[0].get_gridspec().ncols  # type: ignore[union-attr]
    for i, axes in enumerate(axes_of):
        if i % columns == 0:
            axes.set_ylabel(y)
        if i + columns >= len(axes_of):
            axes.set_xlabel(x)
            axes.tick_params(labelbottom=True)
