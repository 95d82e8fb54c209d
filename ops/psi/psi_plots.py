"""Plots of psi by cluster, by type and by token (Maeda 2024)."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.collections import PolyCollection
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ops.arrays import Floats, Integers
from ops.figures.lines import lines
from ops.figures.maps import heat_map
from ops.figures.panels import finish, logarithmic, panels
from ops.figures.style import COLOURS, GROUND, INK, SEQUENTIAL
from ops.psi.token_types import TYPES

_SERIES = {
    "highest": "head of the highest first cluster",
    "lowest": "head of the lowest",
    "all": "mean of all heads (band: lowest to highest)",
}


def draw_by_cluster(clusters: pa.Table, model: str = "") -> Figure:
    """Draw psi_qkv of each layer's clusters in descending order: the extreme heads, and the mean and range of all.

    Args:
        clusters: rows of psi/clusters with `layer`, `head`, `rank` and `psi_qkv`.
        model: the model's name, for the title.
    """
    first = clusters.filter(pc.equal(clusters["rank"], pc.min(clusters["rank"]))).sort_by([("psi_qkv", "descending")])
    parts, names = [], {}
    for layer in sorted(pc.unique(clusters["layer"]).to_pylist()):
        rows = clusters.filter(pc.equal(clusters["layer"], layer))
        heads = first.filter(pc.equal(first["layer"], layer))["head"].to_pylist()
        extremes = {"highest": heads[0]} | ({"lowest": heads[-1]} if len(heads) > 1 else {})
        names[layer] = f"layer {layer}: " + ", ".join(f"{word} {head}" for word, head in extremes.items())
        every = rows.group_by("rank").aggregate([("psi_qkv", end) for end in ("mean", "min", "max")])
        every = every.rename_columns(["rank", "y", "low", "high"])
        for series, head in extremes.items():
            own = rows.filter(pc.equal(rows["head"], head)).select(["rank", "psi_qkv"]).rename_columns(["rank", "y"])
            parts.append(_named(own, layer, series))
        parts.append(_named(every, layer, "all"))
    figure = lines(
        pa.concat_tables(parts, promote_options="permissive"), "rank", "y", low="low", high="high", colour="series",
        series=_SERIES, panel="layer", names=names, model=model, x_label="rank of the cluster",
        y_label=r"$\psi_{qkv}$ (no unit)",
        title=r"$\psi_{qkv}$ of the clusters of the vocabulary, from each head's highest to its lowest",
    )  # fmt: skip
    values = clusters["psi_qkv"].to_numpy()
    logarithmic(figure.axes[0], "y", values.min(), values.max())
    logarithmic(figure.axes[0], "x", 1, len(pc.unique(clusters["rank"])))
    return figure


def _named(rows: pa.Table, layer: int, series: str) -> pa.Table:
    for name, value in (("layer", layer), ("series", series)):
        rows = rows.append_column(name, pa.repeat(value, len(rows)))
    return rows


def draw_top_types(types: Integers, model: str = "") -> Figure:
    """Draw the types of each head's top clusters as a map of layers and heads, the first cluster on the left.

    Args:
        types: indices in `TYPES`, `[layers, heads, top]`.
        model: the model's name, for the title.
    """
    layers, heads, top = types.shape
    title = rf"Types of each head's {top} clusters of highest $\psi_{{qkv}}$"
    figure, (axes,) = panels([], title, model, height=0.4 + 0.2 * layers)
    shades = ListedColormap(COLOURS[: len(TYPES)])
    heat_map(axes, types.reshape(layers, heads * top), -0.5, len(TYPES) - 0.5, cmap=shades, aspect="auto")
    for x in range(1, heads * top):
        axes.axvline(x - 0.5, color=GROUND, lw=3 if x % top == 0 else 0.6)
    for y in range(1, layers):
        axes.axhline(y - 0.5, color=GROUND, lw=3)
    axes.set_xticks(np.arange(heads) * top + (top - 1) / 2, [str(head) for head in range(heads)])
    axes.set_yticks(np.arange(layers), [str(layer + 1) for layer in range(layers)])
    patches = [Patch(color=colour, label=kind) for kind, colour in zip(TYPES, COLOURS, strict=False)]
    figure.legend(handles=patches, loc="outside lower center", ncols=3)
    return finish(figure, "head", "layer")


def draw_static_contextual(pairs: list[tuple[Floats, Floats]], least: int, model: str = "") -> Figure:
    """Draw psi_qkv of the word embedding alone against its mean over the corpus, with one panel for each layer.

    Args:
        pairs: for each layer, the static and the contextual values of the tokens in all heads.
        least: minimum number of occurrences of a token that is drawn.
        model: the model's name, for the title.
    """
    title = rf"$\psi_{{qkv}}$ (no unit) of word embeddings and of real inputs, tokens that occur {least} times or more"
    figure, grid = panels([f"layer {layer}" for layer in range(1, len(pairs) + 1)], title, model)
    everything = np.concatenate([np.concatenate(pair) for pair in pairs])
    low, high = (np.quantile(everything, [0.0001, 0.9999]) * (0.8, 1.25)) if len(everything) else (0.1, 10.0)
    drawn: list[PolyCollection] = []
    for axes, (static, contextual) in zip(grid, pairs, strict=True):
        if len(static):
            cells = axes.hexbin(
                static, contextual, gridsize=30, xscale="log", yscale="log", mincnt=1, cmap=SEQUENTIAL, lw=0,
                extent=(math.log10(low), math.log10(high)) * 2,
            )  # fmt: skip
            drawn.append(cells)
        axes.plot([low, high], [low, high], color=INK, lw=0.7, ls="--", label="the same in both")
        axes.set(xlim=(low, high), ylim=(low, high))
        for which in ("x", "y"):
            logarithmic(axes, which, low, high)
    if drawn:
        # One scale for all panels, so that colours can be compared.
        shades = LogNorm(1, max(2.0, *(float(np.max(np.asarray(cells.get_array()))) for cells in drawn)))
        for cells in drawn:
            cells.set_norm(shades)
        bar = figure.colorbar(drawn[0], ax=grid, location="bottom", aspect=40, format="{x:g}")
        bar.set_label("pairs of token and head in a cell (logarithmic)")
        bar.minorticks_off()
    return finish(figure, "word embedding alone", "mean over the corpus")
