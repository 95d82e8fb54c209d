"""The figure of `compare/universal`: how many units have a match in another run, next to rotated layers."""

import pyarrow as pa
import pyarrow.compute as pc

from ops.compare.unit_matches import UNIVERSAL_FROM
from ops.figures.files import save_figures
from ops.figures.lines import draw_lines, layer_names, longer
from ops.figures.panels import finish, panels
from ops.figures.style import LEVEL
from ops.storage.store import Store

FOLDER = "compare/figures/matches"
_LINES = (("", "best match in the other run", "correlated"), ("", "best axis of rotated layers", "rotated"))


def draw_matches(store: Store, universal: pa.Table, model: str, other: str) -> list[str]:
    """Draw the share of units above a threshold, next to rotated layers and as the excess over them by layer."""
    by_layer = universal.filter(pc.and_(pc.is_valid(universal["layer"]), pc.is_valid(universal["share"])))
    titles = ["all layers, by the minimum absolute correlation"]
    titles += [f"each layer, by the minimum excess over rotated layers (dotted: {UNIVERSAL_FROM})"] * bool(
        len(by_layer)
    )
    figure, grid = panels(titles, f"Units of {model} with a match in {other}")
    whole = universal.filter(pc.is_null(universal["layer"]))
    draw_lines(grid[0], longer(whole, *_LINES), "threshold", "y", colour="series")
    for axes in grid[1:]:
        draw_lines(axes, by_layer, "threshold", "share", colour="layer", series=layer_names(by_layer), ordered=True)
        axes.axvline(UNIVERSAL_FROM, **LEVEL, linestyle=":")
    grid[0].set_ylim(-0.02, 1.02)
    return save_figures(store, FOLDER, {"universal": finish(figure, "threshold", "share of units")})
