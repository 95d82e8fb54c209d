"""The figure of `compare/shift`: how far a model moved, by text set and by layer (Oba 2021, Table 3)."""

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ops.figures import BAND, PAGE, distinct_lines, for_print, save_figures
from ops.storage.store import Store

FOLDER = "compare/figures/shift"
MOST_LINES = 6  # maximum number of text sets that are drawn by layer


def draw_shift(store: Store, tables: dict[str, pa.Table], model: str, against: str) -> list[str]:
    """Draw the figure and return the file names."""
    return save_figures(store, FOLDER, {"shift": lambda: shift_figure(tables["compare/shift_layers"], model, against)})


@for_print
def shift_figure(layers: pa.Table, model: str, against: str) -> Figure:
    """Draw both distances with intervals: over all neurons by text set, and by layer with a line for each text set.

    If there are too many text sets for distinct lines, the panels by layer show those that moved most.
    """
    rows = layers.to_pylist()
    names = sorted({row["text_set"] for row in rows})
    whole = {row["text_set"]: row["manhattan"] for row in rows if not row["layer"]}
    drawn = sorted(whole, key=lambda name: -whole[name])[:MOST_LINES]
    figure = Figure(figsize=(PAGE, 4.8), layout="constrained")
    panels = figure.subplots(2, 2, squeeze=False)
    for (left, right), distance in zip(panels, ("manhattan", "euclidean"), strict=True):
        for place, (name, look) in enumerate(zip(names, distinct_lines(len(names)), strict=True)):
            own = [row for row in rows if row["text_set"] == name]
            means, low, high = (
                np.array([row[f"{distance}{end}"] for row in own], float) for end in ("", "_low", "_high")
            )
            errors = np.maximum(np.stack([means - low, high - means]), 0)
            left.bar(place, means[0], yerr=errors[:, :1], color=look["color"], capsize=3)
            numbers = [row["layer"] for row in own[1:]]
            if name in drawn:
                right.plot(numbers, means[1:], marker=".", label=name, **look)
                right.fill_between(numbers, low[1:], high[1:], color=look["color"], **BAND)
            right.set_xticks(numbers)
        left.set_xticks(range(len(names)), names, rotation=30, ha="right", rotation_mode="anchor")
        left.set_ylabel(f"{distance.title()} distance")
        right.set_ylim(bottom=0)
    panels[0][0].set_title("all layers together")
    panels[0][1].set_title("by layer")
    figure.legend(*panels[0][1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    panels[1][0].set_xlabel("text set")
    panels[1][1].set_xlabel("layer")
    figure.suptitle(f"{model} and {against}:\nmean distance between a sentence's two vectors (95 % intervals)")
    return figure
