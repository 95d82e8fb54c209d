"""The figure of `compare/diversity`: error of k-means by number of clusters and by layer (Oba 2021, Figure 3)."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.figures import PAGE, for_print, ordered_colours, save_figures, titled
from ops.storage.store import Store

FOLDER = "compare/figures/diversity"


def draw_curves(store: Store, diversity: pa.Table, model: str) -> list[str]:
    """Draw the figure and return the file names."""
    return save_figures(store, FOLDER, {"curves": lambda: curves_figure(diversity, model)})


@for_print
def curves_figure(diversity: pa.Table, model: str) -> Figure:
    """Draw the error per point by number of clusters, and its ratio to uniform sentences, one line for each layer."""
    layers = sorted(set(diversity["layer"].to_pylist()))
    numbers = sorted(set(diversity["clusters"].to_pylist()))
    colors = ordered_colours(len(layers))
    figure = Figure(figsize=(PAGE, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    for layer, color in zip(layers, colors, strict=True):
        own = diversity.filter(pc.equal(diversity["layer"], layer))
        clusters = own["clusters"].to_numpy()
        left.plot(clusters, own["sse_per_point"].to_numpy(), "o-", markersize=3, color=color, label=f"layer {layer}")
        uniform = own["sse_of_uniform"].to_numpy()
        left.plot(clusters, uniform / own["n"].to_numpy(), ":", linewidth=0.9, color=color)
        ratio = own["sse"].to_numpy() / np.where(uniform > 0, uniform, np.nan)
        right.plot(clusters, ratio, "o-", markersize=3, color=color)
    left.set_title("winners (dotted: a uniform sample of sentences)")
    left.set_ylabel("mean squared distance to the nearest centre")
    right.set_title("winners relative to the uniform sample")
    right.set_ylabel("ratio of the squared distances")
    right.axhline(1, color="0.7", linewidth=0.8)
    for panel in (left, right):
        panel.set_xscale("log")
        panel.set_xticks(numbers, [str(n) for n in numbers])
        panel.minorticks_off()
        panel.set_xlabel("k-means clusters")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=6)
    figure.suptitle(titled("How diverse the winners of a layer are (after Oba 2021, Figure 3)", model))
    return figure
