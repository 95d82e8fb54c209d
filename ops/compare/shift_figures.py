"""The figure of `compare/shift`: how far a model moved, by text set and by layer (Oba 2021, Table 3)."""

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ops.figures import PAGE, for_print, save_figures
from ops.storage.store import Store

FOLDER = "compare/figures/shift"


def draw_shift(store: Store, tables: dict[str, pa.Table], model: str, against: str) -> list[str]:
    """Draw the figure and return the files' names."""
    return save_figures(store, FOLDER, {"shift": lambda: shift_figure(tables["compare/shift_layers"], model, against)})


@for_print
def shift_figure(layers: pa.Table, model: str, against: str) -> Figure:
    """Draw both distances with their intervals: of all neurons by text set, and by layer, a line a text set."""
    rows = layers.to_pylist()
    names = sorted({row["text_set"] for row in rows})
    figure = Figure(figsize=(PAGE, 4.8), layout="constrained")
    panels = figure.subplots(2, 2, squeeze=False)
    for (left, right), distance in zip(panels, ("manhattan", "euclidean"), strict=True):
        for place, name in enumerate(names):
            own = [row for row in rows if row["text_set"] == name]
            means, low, high = (
                np.array([row[f"{distance}{end}"] for row in own], float) for end in ("", "_low", "_high")
            )
            errors = np.maximum(np.stack([means - low, high - means]), 0)
            left.bar(place, means[0], yerr=errors[:, :1], color=f"C{place % 10}", capsize=3)
            numbers = [row["layer"] for row in own[1:]]
            right.errorbar(numbers, means[1:], errors[:, 1:], fmt=".-", color=f"C{place % 10}", label=name)
            right.set_xticks(numbers)
        left.set_xticks(range(len(names)), names, rotation=20)
        left.set_ylabel(f"{distance.title()} distance")
        right.set_ylim(bottom=0)
    figure.legend(*panels[0][1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    panels[1][1].set_xlabel("layer")
    figure.suptitle(f"{model} against {against}:\nmean distance of a sentence's vectors, 95 % intervals")
    return figure
