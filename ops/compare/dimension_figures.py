"""The figures of `compare/dimensions`: units by layers (Oba 2021, Figure 2), and agreement by distance of layers."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from matplotlib.figure import Figure

from ops.compare.layer_agreement import standard_scores
from ops.figures import save_figures
from ops.storage.store import Store

FOLDER = "compare/figures/dimensions"
HEAT_MAPS = (
    "means:words_per_sentence:top",
    "means:verbs_per_sentence:top",
    "means:nouns_per_sentence:top",
    "neurons:mean",
)
LINES = ("neurons:mean", "neurons:std", *HEAT_MAPS[:3])

Floats = npt.NDArray[np.float64]


def draw_dimensions(
    store: Store,
    properties: Mapping[str, Floats],
    widths: tuple[int, ...],
    rotated: pa.Table,
    units: tuple[int, int],
) -> list[str]:
    """Draw the figures and return the files' names.

    Args:
        store: the run's folder.
        properties: by name a value for each neuron, `[neurons]`.
        widths: units of each layer.
        rotated: the table compare/rotated.
        units: first and last unit of the heat maps; where layers are narrower their last ones.
    """
    drawings = {}
    shown = [name for name in HEAT_MAPS if name in properties]
    if shown and len(set(widths)) == 1:
        drawings["units"] = draw_units({n: properties[n].reshape(len(widths), -1) for n in shown}, units)
    if rotated.num_rows:
        drawings["distances"] = draw_distances(rotated)
    return save_figures(store, FOLDER, drawings)


def draw_units(properties: Mapping[str, Floats], units: tuple[int, int]) -> Figure:
    """Draw properties `[layers, units]` of some units as heat maps, standardised within each layer."""
    layers, width = next(iter(properties.values())).shape
    span = units[1] - units[0] + 1
    first = min(units[0], max(width - span, 0))
    stop = min(first + span, width)
    figure = Figure(figsize=(9.6, 0.8 + len(properties) * (0.9 + 0.16 * layers)), layout="constrained")
    panels = figure.subplots(len(properties), 1, sharex=True, squeeze=False)[:, 0]
    for panel, (name, values) in zip(panels, properties.items(), strict=True):
        scores = standard_scores(values)[:, first:stop] * np.sqrt(width)
        image = panel.imshow(
            scores,
            origin="lower",
            aspect="auto",
            cmap="RdBu_r",
            vmin=-3,
            vmax=3,
            extent=(first - 0.5, stop - 0.5, 0.5, layers + 0.5),
        )
        panel.set_yticks(range(1, layers + 1))
        panel.set_title(name, fontsize=8)
        panel.set_ylabel("layer")
        figure.colorbar(image, ax=panel, label="std. dev.")
    panels[-1].set_xlabel("unit")
    figure.suptitle(f"Units {first} to {stop - 1} by layer, standardised within the layer (after Oba 2021, Figure 2)")
    return figure


def draw_distances(rotated: pa.Table) -> Figure:
    """Draw the mean correlation of layers by how far apart they are, beside rotated bases, a panel a property."""
    rows = rotated.to_pylist()
    there = {row["property"] for row in rows}
    shown = [name for name in LINES if name in there]
    figure = Figure(figsize=(0.6 + 2.4 * len(shown), 3.0), layout="constrained")
    panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, shown, strict=True):
        own = [row for row in rows if row["property"] == name]
        far = np.array([row["layer_b"] - row["layer_a"] for row in own])
        distances = np.unique(far)
        for column, label, style in (("correlation", "units", "C0-o"), ("rotated_mean", "rotated bases", "C1-s")):
            values = np.array([row[column] for row in own])
            panel.plot(distances, [values[far == d].mean() for d in distances], style, markersize=3, label=label)
        ends = [np.array([row[f"rotated_{end}"] for row in own]) for end in ("low", "high")]
        low, high = ([values[far == d].mean() for d in distances] for values in ends)
        panel.fill_between(distances, low, high, color="C1", alpha=0.2, linewidth=0)
        panel.axhline(0, color="0.7", linewidth=0.8)
        panel.set_title(name, fontsize=8)
        panel.set_xlabel("layers apart")
    panels[0].set_ylabel("mean correlation across units")
    panels[0].legend(fontsize=7)
    figure.suptitle("Do units of one number agree across layers, beyond rotated bases (band: lowest to highest)?")
    return figure
