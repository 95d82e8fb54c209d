"""The figures of `compare/dimensions`: units by layers (Oba 2021, Figure 2), and agreement by distance of layers."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ops.arrays import Float64s
from ops.compare.layer_agreement import standard_scores
from ops.compare.property_names import in_words
from ops.figures.files import save_figures
from ops.figures.lines import lines, longer
from ops.figures.maps import heat_map
from ops.figures.panels import finish, panels
from ops.figures.style import DIVERGING, LEVEL
from ops.storage.store import Store

FOLDER = "compare/figures/dimensions"
HEAT_MAPS = (
    "means:words_per_sentence:top",
    "means:verbs_per_sentence:top",
    "means:nouns_per_sentence:top",
    "neurons:mean",
)
_NAMES = {name: in_words(name) for name in ("neurons:mean", "neurons:std", *HEAT_MAPS[:3])}
_LINES = (
    ("", "units", "correlation"),
    ("", "axes of rotated bases (band: lowest to highest)", "rotated_mean", "rotated_low", "rotated_high"),
)


def draw_dimensions(
    store: Store,
    properties: Mapping[str, Float64s],
    widths: tuple[int, ...],
    rotated: pa.Table,
    units: tuple[int, int],
    model: str = "",
) -> list[str]:
    """Draw the figures and return the file names.

    Args:
        store: the run's folder.
        properties: the values of each property by its name, `[neurons]`; NaN for a silent neuron.
        widths: number of units of each layer.
        rotated: the table compare/rotated.
        units: first and last unit of the heat maps; narrower layers show their last units.
        model: name of the model, for the titles.
    """
    figures: dict[str, Figure] = {}
    shown = {name: properties[name].reshape(len(widths), -1) for name in HEAT_MAPS if name in properties}
    if shown and len(set(widths)) == 1:
        figures["units"] = draw_units(shown, units, model)
    if rotated.num_rows:
        figures["distances"] = draw_distances(rotated, model)
    return save_figures(store, FOLDER, figures)


def draw_units(properties: Mapping[str, Float64s], units: tuple[int, int], model: str = "") -> Figure:
    """Draw properties `[layers, units]` of some units as heat maps, standardised within each layer.

    A unit without a value (NaN) stays blank.
    """
    layers, width = next(iter(properties.values())).shape
    span = units[1] - units[0] + 1
    first = min(units[0], max(width - span, 0))
    stop = min(first + span, width)
    title = f"Units {first} to {stop - 1} by layer (after Oba 2021, Figure 2)"
    names = [in_words(name) for name in properties]
    figure, grid = panels(names, title, model, columns=1, height=max(0.13 * layers, 0.5))
    for axes, values in zip(grid, properties.values(), strict=True):
        scores = standard_scores(values)[:, first:stop] * np.sqrt(np.isfinite(values).sum(1, keepdims=True))
        ends = (first - 0.5, stop - 0.5, 0.5, layers + 0.5)
        image = heat_map(axes, scores, -3, 3, cmap=DIVERGING, origin="lower", aspect="auto", extent=ends)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    label = "standard deviations from the layer's mean"
    figure.colorbar(image, ax=grid, label=label, extend="both", location="bottom", aspect=40, fraction=0.05)
    return finish(figure, "unit of the layer", "layer")


def draw_distances(rotated: pa.Table, model: str = "") -> Figure:
    """Draw the mean correlation of layers by their distance, next to rotated bases, with a panel for each property."""
    pairs = longer(rotated, *_LINES)
    pairs = pairs.append_column("apart", pc.subtract(pairs["layer_b"], pairs["layer_a"]))
    means = pairs.group_by(["property", "series", "apart"]).aggregate([(name, "mean") for name in ("y", "low", "high")])
    figure = lines(
        means, "apart", "y_mean", low="low_mean", high="high_mean", colour="series", panel="property", names=_NAMES,
        series={series: series for _, series, *_ in _LINES}, x_label="layers apart", y_label="mean correlation",
        title="How far units of the same number agree across layers, next to rotated bases", model=model,
    )  # fmt: skip
    for axes in figure.axes:
        axes.axhline(0, **LEVEL)
    return figure
