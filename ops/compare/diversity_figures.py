"""The figure of `compare/diversity`: error of k-means by number of clusters and by layer (Oba 2021, Figure 3)."""

import pyarrow as pa
import pyarrow.compute as pc

from ops.figures.files import save_figures
from ops.figures.lines import draw_lines, layer_names
from ops.figures.panels import finish, panels
from ops.figures.style import LEVEL
from ops.storage.store import Store

FOLDER = "compare/figures/diversity"
_PANELS = {
    "mean squared distance to the nearest centre (dotted: a uniform sample of sentences)": (
        ("sse_per_point", "-"),
        ("uniform_per_point", ":"),
    ),
    "winners' squared distances divided by those of the uniform sample": (("ratio", "-"),),
}


def draw_curves(store: Store, diversity: pa.Table, model: str) -> list[str]:
    """Draw the error per winner and its ratio to uniform sentences by layer, and return the file names."""
    uniform = diversity["sse_of_uniform"]
    table = diversity.append_column("uniform_per_point", pc.divide(uniform, diversity["n"].cast(pa.float64())))
    known = pc.if_else(pc.greater(uniform, 0), uniform, None)
    table = table.append_column("ratio", pc.divide(diversity["sse"], known))
    title = "How diverse the winners of a layer are (after Oba 2021, Figure 3)"
    figure, grid = panels(list(_PANELS), title, model, own_scales=True)
    names, numbers = layer_names(table), sorted(pc.unique(table["clusters"]).to_pylist())
    for axes, columns in zip(grid, _PANELS.values(), strict=True):
        for column, dashes in columns:
            own = names if dashes == "-" else dict.fromkeys(names, "")
            draw_lines(axes, table, "clusters", column, colour="layer", series=own, ordered=True, linestyle=dashes)
        axes.set_xscale("log")
        axes.set_xticks(numbers, [str(number) for number in numbers])
        axes.minorticks_off()
    grid[1].axhline(1, **LEVEL)
    return save_figures(store, FOLDER, {"curves": finish(figure, "k-means clusters")})
