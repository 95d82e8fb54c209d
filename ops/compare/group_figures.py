"""The figures of `compare/groups`: maps of neurons and sentences by group (Oba 2021, Figure 4), and their quality."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from ops.figures.files import save_figures
from ops.figures.lines import lines, longer, with_panels
from ops.figures.maps import largest, scatter
from ops.figures.panels import finish, panels
from ops.figures.style import COLOURS, GROUND
from ops.storage.store import Store

FOLDER = "compare/figures/groups"
_MEASURES = ("silhouette", "rand_index")
_NAMES = {
    f"{measure}:{grouped}": f"groups of {grouped}: {name}"
    for measure, name in zip(_MEASURES, ("silhouette (-1 to 1)", "adjusted Rand index"), strict=True)
    for grouped in ("neurons", "sentences")
}
_LINES = tuple(
    (measure, series, f"{measure}{end}")
    for measure in _MEASURES
    for series, end in (("activations", ""), ("activations shuffled over sentences", "_of_shuffled"))
)


def draw_groups(store: Store, tables: dict[str, pa.Table], layer: int, model: str = "") -> list[str]:
    """Draw the figures and return the file names.

    Args:
        store: the run's folder.
        tables: the tables of the part `groups`.
        layer: the layer whose maps of neurons and sentences are drawn next to that of all layers' neurons.
        model: name of the model, for the titles.
    """
    neurons, sentences = (
        tables[name].filter(pc.equal(tables[name]["layer"], layer))
        for name in ("compare/groups", "compare/sentence_groups")
    )
    maps = {
        f"neurons of layer {layer}": neurons,
        "neurons of all layers": tables["compare/joint_groups"],
        f"sentences by layer {layer}": sentences,
    }
    titles = [f"{len(table):,} {name}, {len(pc.unique(table['group']))} groups" for name, table in maps.items()]
    title = (
        f"k-means groups on t-SNE maps (after Oba 2021, Figure 4): the {len(COLOURS)} largest are coloured and numbered"
    )
    figure, grid = panels(titles, title, model, own_scales=True)
    for axes, table in zip(grid, maps.values(), strict=True):
        _map(axes, table)
    quality = tables["compare/group_quality"]
    rows = with_panels(longer(quality.filter(pc.greater(quality["layer"], 0)), *_LINES), "panel", "grouped")
    over_layers = rows.group_by(["panel", "series", "groups"]).aggregate([("y", end) for end in ("mean", "min", "max")])
    lines_of_quality = lines(
        over_layers, "groups", "y_mean", low="y_min", high="y_max", colour="series", panel="panel", names=_NAMES,
        series={series: series for _, series, _ in _LINES}, x_label="number of groups", y_label="", own_scales=True,
        title="How distinct and how stable groups are: mean over layers (band: lowest to highest layer)", model=model,
    )  # fmt: skip
    figures = {"maps": finish(figure, "t-SNE axes (no unit); all other groups: grey"), "quality": lines_of_quality}
    return save_figures(store, FOLDER, figures)


def _map(axes: Axes, table: pa.Table) -> None:
    """Draw points by group, and write the number of each coloured group at its most central point."""
    group, points = table["group"].to_numpy(), np.column_stack([table["x"].to_numpy(), table["y"].to_numpy()])
    named = dict.fromkeys(largest(group.tolist()), "")
    scatter(axes, points, group.tolist(), named)
    for number, colour in zip(named, COLOURS, strict=False):
        own = points[group == number]
        centre = own[((own - np.median(own, axis=0)) ** 2).sum(1).argmin()]
        outline = [withStroke(linewidth=2.5, foreground=GROUND)]
        axes.text(
            centre[0],
            centre[1],
            str(number),
            color=colour,
            weight="bold",
            ha="center",
            va="center",
            path_effects=outline,
        )
