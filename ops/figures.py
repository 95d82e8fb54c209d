"""Figures: style, colours, panels and labels, and saving each figure as PNG, SVG and PDF in one step."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from ops.arrays import Floats
from ops.storage.store import Store

DPI = 300
PANEL_COLUMNS = 4
COLUMN, PAGE = 85 / 25.4, 180 / 25.4  # widths that journals print, in inches
LETTERS = 7  # size of the smallest letters in print, in points
TITLE_LETTERS = 100  # maximum length of a line of a title on a figure as wide as a page
STYLE: dict[Any, Any] = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "figure.titlesize": 9,
    "xtick.labelsize": LETTERS, "ytick.labelsize": LETTERS, "legend.fontsize": LETTERS,
    "lines.linewidth": 1.0, "lines.markersize": 3, "axes.linewidth": 0.6, "legend.frameon": False,
    "axes.spines.top": False, "axes.spines.right": False, "image.cmap": "viridis",
}  # fmt: skip
# Okabe and Ito's colours, which people with any colour vision can distinguish. Yellow is omitted: it is pale in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
BLUE, VERMILLION, GREEN, PURPLE, SKY, AMBER, BLACK = COLOURS
GREY, PALE = "#808080", "#D9D9D9"
# Colours of letters on a coloured ground. They are not grey, so a dark page does not change them.
ON_PALE, ON_DARK = "#1B0F2B", "#FFF8E1"
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"  # for numbers from low to high, and for numbers around 0
BAND: dict[str, Any] = {"alpha": 0.18, "linewidth": 0}  # an interval around a line
_DASHES = ("-", "--", ":", "-.")
_DISTANCES, _NEAR = (2, 5, 9, 14, 20, 27, 35, 45), 6  # points between a point and its text; without a line up to here
_ANGLES = np.pi * np.array([0.5, -0.5, 0, 1, 0.25, 0.75, -0.25, -0.75, 0.125, 0.375, 0.625, 0.875])
# How every figure draws measured values (OWN) and what they are compared with (NULLS, in the order of comparisons).
OWN: dict[str, Any] = {"color": BLUE, "marker": "o", "linestyle": "-", "markersize": 3}
NULLS: tuple[dict[str, Any], ...] = (
    {"color": VERMILLION, "marker": "s", "linestyle": "--", "markersize": 3},
    {"color": GREEN, "marker": "^", "linestyle": ":", "markersize": 3},
    {"color": PURPLE, "marker": "D", "linestyle": "-.", "markersize": 3},
)
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
        # The layout is computed once, not again for every kind of file.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for kind, undated in _UNDATED.items():

            def write(path: str, kind: str = kind, undated: dict[str, None] = undated) -> None:
                figure.savefig(path, format=kind, dpi=DPI, metadata=undated)

            store.commit(f"{name}.{kind}", write)
    return figure_files(name)


def for_print(draw: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Make a function draw its figure in the style `STYLE`, regardless of the style in use when the figure is saved."""

    @wraps(draw)
    def styled(*given: Arguments.args, **named: Arguments.kwargs) -> Figure:
        with matplotlib.rc_context(STYLE):
            figure = draw(*given, **named)
        for axes in figure.axes:
            # Ticks are created only when a figure is saved, so their style is set here.
            axes.tick_params(which="both", labelsize=LETTERS, width=0.6)
        return figure

    return styled


def distinct_lines(count: int) -> list[dict[str, Any]]:
    """Return the looks of `count` unordered lines; up to 28 lines all differ in colour or dashes."""
    n = len(COLOURS)
    return [{"color": COLOURS[i % n], "linestyle": _DASHES[i // n % len(_DASHES)]} for i in range(count)]


def ordered_colours(count: int) -> list[Any]:
    """Return colours for `count` ordered lines, such as layers, from dark to light."""
    return list(matplotlib.colormaps[SEQUENTIAL](np.linspace(0, 0.9, count)))


def label_points(
    panel: Axes, points: Floats, texts: Sequence[str], halo: bool = False, lines: Floats | None = None
) -> None:
    """Write a text next to each point of a panel without overlaps; a thin line leads to a text that is further away.

    Set the limits of the panel and the size of its figure before the call, because the places depend on them.

    Args:
        panel: the panel.
        points: the points in data coordinates, `[n, 2]`.
        texts: the text for each point.
        halo: write the texts onto the points where there is room, on a pale ground.
        lines: the two ends of each line that the texts should not cover either, `[lines, 2, 2]`.
    """
    figure = panel.get_figure(root=True)
    if figure is None or not len(points):
        return
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    inside, scale = panel.get_window_extent(), figure.dpi / 72
    at = panel.transData.transform(points)
    ground = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.7} if halo else None
    # Boxes that are taken: their left, lower, right and upper edges, in pixels.
    taken = [] if halo else [np.concatenate([at - 2 * scale, at + 2 * scale], 1)]
    for ends in [] if lines is None else panel.transData.transform(lines.reshape(-1, 2)).reshape(-1, 2, 2):
        steps = np.linspace(0, 1, max(int(np.hypot(*(ends[1] - ends[0])) / (3 * scale)), 2))[:, None]
        along = ends[0] + steps * (ends[1] - ends[0])
        taken.append(np.concatenate([along - scale, along + scale], 1))
    for point, place, text in zip(points, at, texts, strict=True):
        note = panel.annotate(
            text, point, (0, 0), textcoords="offset points", fontsize=LETTERS, ha="center", va="center", bbox=ground,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 2},
        )  # fmt: skip
        note.set_in_layout(False)
        size = Text.get_window_extent(note)
        half = np.array([size.width, size.height]) / 2 + 0.5 * scale
        edges = np.concatenate([*taken, np.zeros((0, 4))])
        offset, box, distance = _free_place(place, half, scale, inside, edges, halo)
        note.set_position((offset[0] / scale, offset[1] / scale))
        if note.arrow_patch is not None:
            note.arrow_patch.set_visible(distance > _NEAR)
        taken.append(box)


def _free_place(
    place: Floats, half: Floats, scale: float, inside: Bbox, taken: Floats, onto: bool
) -> tuple[Floats, Floats, float]:
    """Return a place for a text near a point that covers as little as possible.

    Args:
        place: the point, in pixels.
        half: half the width and height of the text, in pixels.
        scale: pixels per point of print.
        inside: the panel.
        taken: edges of the boxes that the text should not cover, `[boxes, 4]`, in pixels.
        onto: whether the text may cover the point itself.

    Returns:
        The offset of the text's middle from the point in pixels, the edges of the box that the text takes, `[1, 4]`,
        and the distance between point and text in points of print.
    """
    distances = np.array((-np.inf, *_DISTANCES) if onto else _DISTANCES)
    ways = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
    # Distance from the middle of the text to its edge in each direction.
    reach = (half / np.maximum(np.abs(ways), 1e-9)).min(1)
    far = np.maximum(reach + distances[:, None] * scale, 0.0)
    offsets = (far[..., None] * ways).reshape(-1, 2)
    low, high = place + offsets - half, place + offsets + half
    outside = np.maximum(inside.min - low, 0).sum(1) + np.maximum(high - inside.max, 0).sum(1)
    sides = np.minimum(high[:, None], taken[:, 2:]) - np.maximum(low[:, None], taken[:, :2])
    covered = np.maximum(sides, 0).prod(2).sum(1)
    # Of equally free places, argmin takes the first, which is the nearest.
    best = int((3 * outside * half[1] + covered).argmin())
    return offsets[best], np.concatenate([low[best], high[best]])[None], float(distances[best // len(ways)])


def save_figures(store: Store, folder: str, drawings: Mapping[str, Callable[[], Figure]]) -> list[str]:
    """Draw each figure, commit it as the files of `folder`/name, and return their names."""
    # Ticks are created only when a figure is saved, so the size of the letters must be set until then.
    with matplotlib.rc_context({"font.size": 9}):
        return [file for name, draw in drawings.items() for file in save_figure(store, f"{folder}/{name}", draw())]


def titled(title: str, model: str) -> str:
    """Return a title that names a model, on a second line if one line is too short.

    >>> titled("Norms", "sample")
    'Norms, sample'
    >>> titled("Norms", "")
    'Norms'
    """
    if not model:
        return title
    return f"{title}, {model}" if len(title) + len(model) < TITLE_LETTERS else f"{title}\n{model}"


def panels(count: int, title: str, square: bool = False, own_scales: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a figure as wide as a page with `count` panels that share their axes, and the panels, row by row.

    Args:
        count: number of panels; the rest of the last row stays empty.
        title: the figure's title.
        square: make the panels about as high as wide.
        own_scales: give each panel its own vertical scale.
    """
    columns = min(count, PANEL_COLUMNS if count not in (5, 6) else 3)
    rows = -(-count // columns)
    wide = min((PAGE - 0.5) / columns, 2.6)
    figure = Figure(figsize=(PAGE, 1.0 + wide * (1.05 if square else 0.85) * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=not own_scales, squeeze=False)
    for axes in grid.flat[count:]:
        axes.set_axis_off()
    figure.suptitle(title)
    return figure, list(grid.flat[:count])


def label_outer(all_axes: list[Axes], x: str, y: str) -> None:
    """Label the outer axes of a figure made by `panels`: `x` on the lowest panels, `y` on the leftmost."""
    columns = all_axes[0].get_gridspec().ncols  # type: ignore[union-attr]
    for i, axes in enumerate(all_axes):
        if i % columns == 0:
            axes.set_ylabel(y)
        if i + columns >= len(all_axes):
            axes.set_xlabel(x)
            axes.tick_params(labelbottom=True)
