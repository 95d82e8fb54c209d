"""The figures of `compare/dimensions`: units by layers (Oba 2021, Figure 2), and agreement by distance of layers."""

from collections.abc import Callable, Mapping
from textwrap import wrap

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ops.arrays import Float64s
from ops.compare.layer_agreement import standard_scores
from ops.compare.property_names import in_words
from ops.figures import BAND, DIVERGING, NULLS, OWN, PAGE, for_print, label_outer, panels, save_figures, titled
from ops.storage.store import Store

FOLDER = "compare/figures/dimensions"
HEAT_MAPS = (
    "means:words_per_sentence:top",
    "means:verbs_per_sentence:top",
    "means:nouns_per_sentence:top",
    "neurons:mean",
)
LINES = ("neurons:mean", "neurons:std", *HEAT_MAPS[:3])


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
    drawings: dict[str, Callable[[], Figure]] = {}
    shown = [name for name in HEAT_MAPS if name in properties]
    if shown and len(set(widths)) == 1:
        grids = {n: properties[n].reshape(len(widths), -1) for n in shown}
        drawings["units"] = lambda: draw_units(grids, units, model)
    if rotated.num_rows:
        drawings["distances"] = lambda: draw_distances(rotated, model)
    return save_figures(store, FOLDER, drawings)


@for_print
def draw_units(properties: Mapping[str, Float64s], units: tuple[int, int], model: str = "") -> Figure:
    """Draw properties `[layers, units]` of some units as heat maps, standardised within each layer.

    A unit without a value (NaN) stays blank.
    """
    layers, width = next(iter(properties.values())).shape
    span = units[1] - units[0] + 1
    first = min(units[0], max(width - span, 0))
    stop = min(first + span, width)
    figure = Figure(figsize=(PAGE, 0.8 + len(properties) * (0.5 + 0.14 * layers)), layout="constrained")
    rows = figure.subplots(len(properties), 1, sharex=True, squeeze=False)[:, 0]
    for panel, (name, values) in zip(rows, properties.items(), strict=True):
        scores = standard_scores(values)[:, first:stop] * np.sqrt(np.isfinite(values).sum(1, keepdims=True))
        image = panel.imshow(
            scores,
            origin="lower",
            aspect="auto",
            cmap=DIVERGING,
            vmin=-3,
            vmax=3,
            extent=(first - 0.5, stop - 0.5, 0.5, layers + 0.5),
        )
        panel.set_yticks(range(1, layers + 1))
        panel.set_title(in_words(name))
        panel.set_ylabel("layer")
        for side in ("top", "right"):
            panel.spines[side].set_visible(True)
    rows[-1].set_xlabel("unit of the layer")
    figure.colorbar(
        image, ax=list(rows), label="standard deviations from the layer's mean", extend="both", fraction=0.02
    )
    title = f"Units {first} to {stop - 1} by layer (after Oba 2021, Figure 2)"
    figure.suptitle(titled(title, model))
    return figure


@for_print
def draw_distances(rotated: pa.Table, model: str = "") -> Figure:
    """Draw the mean correlation of layers by their distance, next to rotated bases, with a panel for each property."""
    rows = rotated.to_pylist()
    there = {row["property"] for row in rows}
    shown = [name for name in LINES if name in there]
    title = "How far units of the same number agree across layers, next to rotated bases (band: lowest to highest)"
    figure, every = panels(max(len(shown), 1), titled(title, model))
    for panel, name in zip(every, shown, strict=False):
        own = [row for row in rows if row["property"] == name]
        far = np.array([row["layer_b"] - row["layer_a"] for row in own])
        distances = np.unique(far)
        for column, label, look in (("correlation", "units", OWN), ("rotated_mean", "axes of rotated bases", NULLS[0])):
            values = np.array([row[column] for row in own])
            panel.plot(distances, [values[far == d].mean() for d in distances], label=label, **look)
        ends = [np.array([row[f"rotated_{end}"] for row in own]) for end in ("low", "high")]
        low, high = ([values[far == d].mean() for d in distances] for values in ends)
        panel.fill_between(distances, low, high, color=NULLS[0]["color"], **BAND)
        panel.axhline(0, color="0.7", linewidth=0.8)
        panel.set_title("\n".join(wrap(in_words(name), 24)))
        panel.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    label_outer(every, "layers apart", "mean correlation")
    figure.legend(*every[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
