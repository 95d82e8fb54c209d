"""Plots of psi by cluster, by type and by token (Maeda 2024), drawn from arrays."""

import math
from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ops.arrays import Floats, Integers
from ops.figures import BLUE, GREY, PAGE, SEQUENTIAL, VERMILLION, for_print, label_outer, panels, titled
from ops.psi.token_types import TYPE_COLOURS, TYPES


@for_print
def draw_by_cluster(psi_qkv: Floats, model: str = "") -> Figure:
    """Draw psi_qkv of each head's clusters in descending order, with one panel per layer and one line per head.

    The heads whose first cluster has the highest and the lowest value are coloured and named; the others are grey.

    Args:
        psi_qkv: the values in the order of rank, `[layers, heads, clusters]`.
        model: the model's name, for the title.
    """
    layers, heads, clusters = psi_qkv.shape
    title = titled(r"$\psi_{qkv}$ of the clusters of the vocabulary, from each head's highest to its lowest", model)
    figure, every = panels(layers, title)
    for layer, axes in enumerate(every):
        order = np.argsort(-psi_qkv[layer, :, 0], kind="stable").tolist()
        named = {order[0]: VERMILLION} | ({order[-1]: BLUE} if heads > 1 else {})
        for head in range(heads):
            look: dict[str, Any] = (
                {"color": named[head], "lw": 1.4, "zorder": 3} if head in named else {"color": GREY, "lw": 0.5}
            )
            axes.plot(np.arange(1, clusters + 1), psi_qkv[layer, head], **look)
        said = ", ".join(f"{word} {head}" for word, head in zip(("highest", "lowest"), named, strict=False))
        axes.set(title=f"layer {layer + 1}\n{said}", xscale="log", yscale="log")
        axes.grid(alpha=0.25, lw=0.5)
    label_outer(every, "rank of the cluster", r"$\psi_{qkv}$ (no unit)")
    looks = (("head of the highest first cluster", VERMILLION), ("head of the lowest", BLUE), ("other heads", GREY))
    lines = [Line2D([], [], color=colour, label=label) for label, colour in looks[: min(heads, 3)]]
    figure.legend(handles=lines, loc="outside lower center", ncols=3)
    return figure


@for_print
def draw_top_types(types: Integers, model: str = "") -> Figure:
    """Draw the types of each head's top clusters as a map of layers and heads, the first cluster on the left.

    Args:
        types: indices in `TYPES`, `[layers, heads, top]`.
        model: the model's name, for the title.
    """
    layers, heads, top = types.shape
    figure = Figure(figsize=(PAGE, 1.1 + 0.28 * layers), layout="constrained")
    axes = figure.add_subplot()
    colours = ListedColormap([TYPE_COLOURS[t] for t in TYPES])
    axes.imshow(
        types.reshape(layers, heads * top), cmap=colours, vmin=-0.5, vmax=len(TYPES) - 0.5, aspect="auto",
        interpolation="nearest",
    )  # fmt: skip
    for x in range(1, heads * top):
        axes.axvline(x - 0.5, color="white", lw=4 if x % top == 0 else 0.6)
    for y in range(1, layers):
        axes.axhline(y - 0.5, color="white", lw=4)
    axes.set_xticks(np.arange(heads) * top + (top - 1) / 2, [str(h) for h in range(heads)])
    axes.set_yticks(np.arange(layers), [str(i + 1) for i in range(layers)])
    axes.set(
        xlabel="head",
        ylabel="layer",
        title=titled(rf"Types of each head's {top} clusters of highest $\psi_{{qkv}}$", model),
    )
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    patches = [Patch(color=TYPE_COLOURS[t], label=t) for t in TYPES]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(TYPES))
    return figure


@for_print
def draw_static_contextual(pairs: list[tuple[Floats, Floats]], least: int, model: str = "") -> Figure:
    """Draw psi_qkv of the word embedding alone against its mean over the corpus, with one panel for each layer.

    Args:
        pairs: for each layer, the static and the contextual values of the tokens in all heads.
        least: minimum number of occurrences of a token that is drawn.
        model: the model's name, for the title.
    """
    title = rf"$\psi_{{qkv}}$ (no unit) of word embeddings and of real inputs, tokens that occur {least} times or more"
    figure, every = panels(len(pairs), titled(title, model), square=True)
    everything = np.concatenate([np.concatenate(pair) for pair in pairs])
    low, high = (np.quantile(everything, [0.0001, 0.9999]) * (0.8, 1.25)) if len(everything) else (0.1, 10.0)
    drawn: list[PolyCollection] = []
    for layer, (static, contextual) in enumerate(pairs):
        axes = every[layer]
        if len(static):
            cells = axes.hexbin(
                static, contextual, gridsize=45, xscale="log", yscale="log", mincnt=1, cmap=SEQUENTIAL, lw=0,
                extent=(math.log10(low), math.log10(high)) * 2,
            )  # fmt: skip
            drawn.append(cells)
        axes.plot([low, high], [low, high], color="black", lw=0.7, ls="--", label="the same in both")
        axes.set(title=f"layer {layer + 1}", xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    if drawn:
        # One scale for all panels, so that colours can be compared.
        shades = LogNorm(1, max(2.0, *(float(np.max(np.asarray(cells.get_array()))) for cells in drawn)))
        for cells in drawn:
            cells.set_norm(shades)
        figure.colorbar(drawn[0], ax=every, label="pairs of token and head in a cell", fraction=0.02)
    label_outer(every, "word embedding alone", "mean over the corpus")
    figure.legend(*every[0].get_legend_handles_labels(), loc="outside lower center")
    return figure
