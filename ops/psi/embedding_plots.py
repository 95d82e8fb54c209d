"""Plots of word and position embeddings (Maeda 2024), drawn from arrays."""

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ops.arrays import Floats, Integers
from ops.figures import PAGE, PALE, SEQUENTIAL, for_print, label_outer, panels, titled
from ops.psi.position_geometry import Plane
from ops.psi.token_types import TYPE_COLOURS, TYPES

FEW = 20  # types with fewer tokens than this are drawn with larger marks


@for_print
def draw_plane(plane: Plane, types: list[str], positions: int, model: str = "") -> Figure:
    """Draw word embeddings by type, and position embeddings by their order, on their two principal axes.

    Args:
        plane: the coordinates of the words, followed by those of `positions` positions in order.
        types: the type of each word.
        positions: number of position embeddings; if it is 0, only the words are drawn.
        model: the model's name, for the title.
    """
    figure = Figure(figsize=(PAGE, 3.9), layout="constrained")
    panels = figure.subplots(1, 2 if positions else 1, sharex=True, sharey=True, squeeze=False)[0]
    words = plane.places[: len(types)]
    counts = {kind: types.count(kind) for kind in TYPES}
    # The most frequent type first, so that it does not cover the others.
    for kind in sorted(TYPES, key=lambda kind: -counts[kind]):
        chosen = np.array([t == kind for t in types], bool)
        few = counts[kind] < FEW
        panels[0].scatter(
            words[chosen, 0], words[chosen, 1], s=24 if few else 1.5, color=TYPE_COLOURS[kind], lw=0,
            alpha=1 if few else 0.5, marker="D" if few else "o", label=f"{kind}, {counts[kind]:,}", rasterized=True,
        )  # fmt: skip
    panels[0].set_title("word embeddings by type")
    if positions:
        places = plane.places[len(types) :]
        panels[1].scatter(words[:, 0], words[:, 1], s=1, color=PALE, lw=0, rasterized=True)
        marks = panels[1].scatter(places[:, 0], places[:, 1], s=8, c=np.arange(positions), cmap=SEQUENTIAL, lw=0)
        panels[1].set_title("position embeddings by position (grey: words)")
        figure.colorbar(marks, ax=panels[1], label="position (tokens)", fraction=0.04)
    label_outer(
        list(panels),
        f"first component ({plane.shares[0]:.1%} of the variance)",
        f"second component ({plane.shares[1]:.1%})",
    )
    figure.suptitle(titled("Word and position embeddings on their principal components", model))
    legend = figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    for handle in legend.legend_handles:
        handle.set_sizes([24])  # type: ignore[union-attr]
        handle.set_alpha(1)  # type: ignore[union-attr]
    return figure


@for_print
def draw_cosines(counts: Integers, marked: dict[str, float], model: str = "") -> Figure:
    """Draw the histogram of all word-position cosines, with single pairs marked.

    Args:
        counts: number of pairs in equal bins from -1 to 1.
        marked: the cosine of each pair to mark, by the pair's name.
        model: the model's name, for the title.
    """
    figure = Figure(figsize=(PAGE, 3.2), layout="constrained")
    axes = figure.add_subplot()
    edges = np.linspace(-1, 1, len(counts) + 1)
    axes.stairs(counts, edges, fill=True, color=TYPE_COLOURS["Words"])
    axes.axvline(0, color="black", lw=0.6)
    for name, value in marked.items():
        axes.axvline(value, color=TYPE_COLOURS["Tags"], lw=1.2, ls="--", label=f"{name}: {value:.3f}")
    seen = edges[:-1][counts > 0]
    ends = [*seen, *marked.values()] or [-1.0, 1.0]
    low, high = min(ends), max(ends)
    axes.set(
        title=titled(f"Cosine of every word embedding with every position embedding ({counts.sum():,} pairs)", model),
        xlabel="cosine", ylabel="pairs (logarithmic)" if len(seen) else "pairs",
        yscale="log" if len(seen) else "linear", xlim=(low - 0.05, high + 0.05),
    )  # fmt: skip
    if marked:
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center")
    return figure


@for_print
def draw_position_attention(attention: Floats, model: str = "") -> Figure:
    """Draw the first layer's attention from positions alone, `[heads, query, key]`, with one panel for each head."""
    title = titled("Attention of layer 1 from position embeddings alone, by position of query and key", model)
    figure, every = panels(len(attention), title, square=True)
    floor = max(float(attention[attention > 0].min()), 1e-4)
    for head, axes in enumerate(every):
        image = axes.imshow(
            np.maximum(attention[head], floor), cmap=SEQUENTIAL, norm=LogNorm(floor, 1), interpolation="nearest"
        )
        axes.set(title=f"head {head}")
    label_outer(every, "key (tokens)", "query (tokens)")
    figure.colorbar(image, ax=every, label="attention weight (logarithmic)", fraction=0.02)
    return figure
