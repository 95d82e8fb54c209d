"""Figures of psi by cluster, by type and by token (Maeda 2024), drawn from arrays."""

import math

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ops.arrays import Floats, Integers
from ops.figures import PAGE, distinct_lines, for_print, label_outer, panels, titled
from ops.psi.token_types import TYPE_COLOURS, TYPES


@for_print
def draw_by_cluster(psi_qkv: Floats, model: str = "") -> Figure:
    """Draw psi_qkv of each head's clusters in descending order: a panel a layer, a line a head.

    Args:
        psi_qkv: `[layers, heads, clusters]` by rank.
        model: its name, for the title.
    """
    layers, heads, clusters = psi_qkv.shape
    title = titled(r"$\psi_{qkv}$ of the clusters of the vocabulary, from each head's highest to its lowest", model)
    figure, every = panels(layers, title)
    looks = distinct_lines(heads)
    for layer, axes in enumerate(every):
        for head in range(heads):
            axes.plot(np.arange(1, clusters + 1), psi_qkv[layer, head], label=f"head {head}", **looks[head])
        axes.set(title=f"layer {layer + 1}", xscale="log", yscale="log")
        axes.grid(alpha=0.25, lw=0.5)
    label_outer(every, "rank of the cluster", r"$\psi_{qkv}$")
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6)
    return figure


@for_print
def draw_top_types(types: Integers, model: str = "") -> Figure:
    """Draw the types of each head's top clusters as a map of layers and heads, the first cluster on the left.

    Args:
        types: places in `TYPES`, `[layers, heads, top]`.
        model: its name, for the title.
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
    """Draw psi_qkv of the word embedding alone against its mean over the corpus, a panel a layer.

    Args:
        pairs: for each layer the static and the contextual values of all heads' tokens.
        least: occurrences that a token needs to be drawn.
        model: its name, for the title.
    """
    title = rf"$\psi_{{qkv}}$ of word embeddings and of real inputs, tokens that occur {least} times or more"
    figure, every = panels(len(pairs), titled(title, model), square=True)
    everything = np.concatenate([np.concatenate(pair) for pair in pairs])
    low, high = (np.quantile(everything, [0.0001, 0.9999]) * (0.8, 1.25)) if len(everything) else (0.1, 10.0)
    for layer, (static, contextual) in enumerate(pairs):
        axes = every[layer]
        if len(static):
            axes.hexbin(
                static, contextual, gridsize=60, xscale="log", yscale="log", bins="log", mincnt=1, cmap="viridis", lw=0,
                extent=(math.log10(low), math.log10(high)) * 2,
            )  # fmt: skip
        axes.plot([low, high], [low, high], color="black", lw=0.7, ls="--")
        axes.set(title=f"layer {layer + 1}", xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    label_outer(every, "word embedding alone", "mean over the corpus")
    return figure
