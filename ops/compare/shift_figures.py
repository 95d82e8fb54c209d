"""The figure of `compare/shift`: how far a model moved, by text set and by layer (Oba 2021, Table 3)."""

import pyarrow as pa
import pyarrow.compute as pc

from ops.figures.files import save_figures
from ops.figures.lines import draw_lines
from ops.figures.panels import finish, from_zero, panels
from ops.storage.store import Store

FOLDER = "compare/figures/shift"
MOST_LINES = 6  # maximum number of text sets that are drawn by layer
_DISTANCES = ("manhattan", "euclidean")


def draw_shift(store: Store, tables: dict[str, pa.Table], model: str, against: str) -> list[str]:
    """Draw both distances with intervals, by text set and by layer, and return the file names.

    If there are too many text sets for distinct lines, the panels by layer show those that moved most.
    """
    rows = tables["compare/shift_layers"]
    whole, layers = (rows.filter(test(rows["layer"], 0)) for test in (pc.equal, pc.greater))
    moved = whole.sort_by([("manhattan", "descending")])["text_set"].to_pylist()[:MOST_LINES]
    titles = [f"{distance}, {of}" for distance in _DISTANCES for of in ("all layers together", "by layer")]
    title = f"{model} and {against}: mean distance between a sentence's two vectors (95 % intervals)"
    figure, grid = panels(titles, title, own_scales=True)
    for distance, left, right in zip(_DISTANCES, grid[::2], grid[1::2], strict=True):
        ends = {"low": f"{distance}_low", "high": f"{distance}_high"}
        draw_lines(left, whole, "text_set", distance, points=True, **ends)
        draw_lines(right, layers, "layer", distance, colour="text_set", series={n: n for n in moved}, **ends)
        for axes in (left, right):
            from_zero(axes)
    return save_figures(store, FOLDER, {"shift": finish(figure, "text set, or layer", "distance")})
