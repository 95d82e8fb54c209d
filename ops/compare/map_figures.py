"""The figures of compare that are maps: units by layers, and neurons and sentences by group (Oba 2021)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from ops.arrays import Float64s
from ops.compare.layer_agreement import standard_scores
from ops.compare.property_names import in_words
from ops.figures.maps import colour_bar, heat_map, largest, scatter
from ops.figures.panels import finish, panels
from ops.figures.style import COLOURS, DIVERGING, GROUND

HEAT_MAPS = (
    "means:words_per_sentence:top",
    "means:verbs_per_sentence:top",
    "means:nouns_per_sentence:top",
    "neurons:mean",
)


def units_figures(
    properties: Mapping[str, Float64s], widths: tuple[int, ...], units: tuple[int, int]
) -> dict[str, Figure]:
    """Return the figure of some units' properties as heat maps, or none if layers differ in width.

    Args:
        properties: the values of each property by its name, `[neurons]`, which are standardised within each layer. A
            silent neuron (NaN) stays blank.
        widths: number of units of each layer.
        units: first and last unit; narrower layers show their last units.
    """
    shown = {name: properties[name] for name in HEAT_MAPS if name in properties}
    if not shown or len(set(widths)) > 1:
        return {}
    layers, width = len(widths), widths[0]
    span = units[1] - units[0] + 1
    first = min(units[0], max(width - span, 0))
    stop = min(first + span, width)
    title = f"Units {first} to {stop - 1} by layer (after Oba 2021, Figure 2)"
    names = [in_words(name) for name in shown]
    figure, grid = panels(names, title, columns=1, height=max(0.13 * layers, 0.5))
    for axes, values in zip(grid, shown.values(), strict=True):
        values = values.reshape(layers, width)
        scores = standard_scores(values)[:, first:stop] * np.sqrt(np.isfinite(values).sum(1, keepdims=True))
        ends = (first - 0.5, stop - 0.5, 0.5, layers + 0.5)
        image = heat_map(axes, scores, -3, 3, cmap=DIVERGING, origin="lower", aspect="auto", extent=ends)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    colour_bar(image, grid, "standard deviations from the layer's mean", extend="both")
    return {"units": finish(figure, "unit of the layer", "layer")}


def groups_figure(tables: Mapping[str, pa.Table], layer: int) -> Figure:
    """Draw the maps of neurons and of sentences of one layer by group, and that of all layers' neurons."""
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
    of = f"the {len(COLOURS)} largest are coloured and numbered"
    title = f"k-means groups on t-SNE maps (after Oba 2021, Figure 4): {of}"
    figure, grid = panels(titles, title, own_scales=True)
    for axes, table in zip(grid, maps.values(), strict=True):
        _map(axes, table)
    return finish(figure, "t-SNE axes (no unit); all other groups: grey")


def _map(axes: Axes, table: pa.Table) -> None:
    """Draw points by group, and write the number of each coloured group at its most central point."""
    group, points = table["group"].to_numpy(), np.column_stack([table["x"].to_numpy(), table["y"].to_numpy()])
    named = dict.fromkeys(largest(group.tolist()), "")
    scatter(axes, points, group.tolist(), named)
    look: dict[str, Any] = {"weight": "bold", "ha": "center", "va": "center"}
    outline = [withStroke(linewidth=2.5, foreground=GROUND)]
    for number, colour in zip(named, COLOURS, strict=False):
        own = points[group == number]
        x, y = own[((own - np.median(own, axis=0)) ** 2).sum(1).argmin()]
        axes.text(x, y, str(number), color=colour, path_effects=outline, **look)
