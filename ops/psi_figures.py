"""The figures of psi (Maeda 2024), drawn from arrays."""

import math

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ops.position_geometry import Plane
from ops.token_types import TYPES

Floats = npt.NDArray[np.floating]
# Okabe and Ito's colours, which people with any colour vision tell apart.
TYPE_COLOURS = dict(zip(TYPES, ("#0072B2", "#56B4E9", "#E69F00", "#009E73", "#999999", "#D55E00"), strict=True))
PANEL_COLUMNS = 4


def draw_by_cluster(psi_qkv: Floats) -> Figure:
    """Draw psi_qkv of each head's clusters in descending order: a panel a layer, a line a head.

    Args:
        psi_qkv: `[layers, heads, clusters]` by rank.
    """
    layers, heads, clusters = psi_qkv.shape
    figure, panels = _panels(
        layers, "psi_qkv of the clusters of the vocabulary, from each head's highest to its lowest"
    )
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.95, heads))
    for layer, axes in enumerate(panels):
        for head in range(heads):
            axes.plot(np.arange(1, clusters + 1), psi_qkv[layer, head], color=colours[head], lw=1, label=f"head {head}")
        axes.set(title=f"layer {layer + 1}", xscale="log", yscale="log")
        axes.grid(alpha=0.25, lw=0.5)
    _label_outer(panels, "rank of the cluster", "psi_qkv")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
    return figure


def draw_top_types(types: npt.NDArray[np.integer]) -> Figure:
    """Draw the types of each head's top clusters as a map of layers and heads, the first cluster on the left.

    Args:
        types: places in `TYPES`, `[layers, heads, top]`.
    """
    layers, heads, top = types.shape
    figure = Figure(figsize=(2.6 + 0.55 * heads, 1.8 + 0.42 * layers), layout="constrained")
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
    axes.set(xlabel="head", ylabel="layer", title=f"Types of each head's {top} clusters of highest psi_qkv")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    patches = [Patch(color=TYPE_COLOURS[t], label=t) for t in TYPES]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(TYPES), frameon=False, fontsize=8)
    return figure


def draw_plane(plane: Plane, types: list[str], positions: int) -> Figure:
    """Draw word embeddings by type and position embeddings by their order on their two principal axes.

    Args:
        plane: words first, then `positions` positions in order.
        types: type of each word.
    """
    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.add_subplot()
    words = plane.places[: len(types)]
    for kind in TYPES:
        chosen = np.array([t == kind for t in types])
        size = 30 if chosen.sum() < 20 else 3
        axes.scatter(
            words[chosen, 0], words[chosen, 1], s=size, color=TYPE_COLOURS[kind], lw=0, label=kind, rasterized=True
        )
    if positions:
        places = plane.places[len(types) :]
        marks = axes.scatter(
            places[:, 0], places[:, 1], s=8, c=np.arange(positions), cmap="magma", lw=0, label="positions"
        )
        figure.colorbar(marks, ax=axes, label="position", fraction=0.04)
    axes.set(
        title="Word and position embeddings, principal components",
        xlabel=f"first component ({plane.shares[0]:.1%} of the variance)",
        ylabel=f"second component ({plane.shares[1]:.1%})",
    )
    legend = axes.legend(fontsize=8, frameon=False)
    for handle in legend.legend_handles:
        handle.set_sizes([24])  # type: ignore[union-attr]
    return figure


def draw_cosines(counts: npt.NDArray[np.integer], marked: dict[str, float]) -> Figure:
    """Draw the histogram of all word-position cosines, with single pairs marked.

    Args:
        counts: pairs in equal bins from -1 to 1.
        marked: cosine of each pair to be marked, by its name.
    """
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    edges = np.linspace(-1, 1, len(counts) + 1)
    axes.stairs(counts, edges, fill=True, color=TYPE_COLOURS["Words"])
    axes.axvline(0, color="black", lw=0.6)
    for name, value in marked.items():
        axes.axvline(value, color=TYPE_COLOURS["Tags"], lw=1.2, ls="--", label=f"{name}: {value:.3f}")
    seen = edges[:-1][counts > 0]
    low, high = min([seen.min(), *marked.values()]), max([seen.max(), *marked.values()])
    axes.set(
        title=f"Cosine of every word embedding with every position embedding ({counts.sum():,} pairs)",
        xlabel="cosine", ylabel="pairs", yscale="log", xlim=(low - 0.05, high + 0.05),
    )  # fmt: skip
    if marked:
        axes.legend(frameon=False, loc="upper left")
    return figure


def draw_position_attention(attention: Floats) -> Figure:
    """Draw the first layer's attention from positions alone, a panel a head: `[heads, query, key]`."""
    figure, panels = _panels(len(attention), "Attention of layer 1 from position embeddings alone", square=True)
    floor = max(float(attention[attention > 0].min()), 1e-4)
    for head, axes in enumerate(panels):
        image = axes.imshow(
            np.maximum(attention[head], floor), cmap="magma", norm=LogNorm(floor, 1), interpolation="nearest"
        )
        axes.set(title=f"head {head}")
    _label_outer(panels, "key position", "query position")
    figure.colorbar(image, ax=panels, label="attention weight", fraction=0.02)
    return figure


def draw_static_contextual(pairs: list[tuple[Floats, Floats]], least: int) -> Figure:
    """Draw psi_qkv of the word embedding alone against its mean over the corpus, a panel a layer.

    Args:
        pairs: for each layer the static and the contextual values of all heads' tokens.
        least: occurrences that a token needs to be drawn.
    """
    figure, panels = _panels(
        len(pairs),
        f"psi_qkv of word embeddings and of real inputs, tokens that occur {least} times or more",
        square=True,
    )
    everything = np.concatenate([np.concatenate(pair) for pair in pairs])
    low, high = (np.quantile(everything, [0.0001, 0.9999]) * (0.8, 1.25)) if len(everything) else (0.1, 10.0)
    for layer, (static, contextual) in enumerate(pairs):
        axes = panels[layer]
        if len(static):
            axes.hexbin(
                static, contextual, gridsize=60, xscale="log", yscale="log", bins="log", mincnt=1, cmap="viridis", lw=0,
                extent=(math.log10(low), math.log10(high)) * 2,
            )  # fmt: skip
        axes.plot([low, high], [low, high], color="black", lw=0.7, ls="--")
        axes.set(title=f"layer {layer + 1}", xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    _label_outer(panels, "word embedding alone", "mean over the corpus")
    return figure


def _panels(count: int, title: str, square: bool = False) -> tuple[Figure, list[Axes]]:
    """Make a figure of as many panels with axes in common; what is left of the last row stays empty."""
    columns = min(count, PANEL_COLUMNS if count != 6 else 3)
    rows = -(-count // columns)
    size = (1.0 + 2.9 * columns, 0.9 + (2.9 if square else 2.4) * rows)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[count:]:
        axes.set_axis_off()
    figure.suptitle(title, fontsize=11)
    return figure, list(grid.flat[:count])


def _label_outer(panels: list[Axes], x: str, y: str) -> None:
    columns = panels[0].get_gridspec().ncols  # type: ignore[union-attr]
    for i, axes in enumerate(panels):
        if i % columns == 0:
            axes.set_ylabel(y)
        if i + columns >= len(panels):
            axes.set_xlabel(x)
            axes.tick_params(labelbottom=True)
