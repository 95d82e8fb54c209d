"""Figures of word and position embeddings (Maeda 2024), drawn from arrays."""

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ops.arrays import Floats, Integers
from ops.figures import PAGE, for_print, label_outer, panels, titled
from ops.psi.position_geometry import Plane
from ops.psi.token_types import TYPE_COLOURS, TYPES


@for_print
def draw_plane(plane: Plane, types: list[str], positions: int, model: str = "") -> Figure:
    """Draw word embeddings by type and position embeddings by their order on their two principal axes.

    Args:
        plane: words first, then `positions` positions in order.
        types: type of each word.
        model: its name, for the title.
    """
    figure = Figure(figsize=(PAGE, 4.6), layout="constrained")
    axes = figure.add_subplot()
    words = plane.places[: len(types)]
    for kind in TYPES:
        chosen = np.array([t == kind for t in types])
        few = chosen.sum() < 20
        axes.scatter(
            words[chosen, 0], words[chosen, 1], s=24 if few else 2, color=TYPE_COLOURS[kind], lw=0,
            marker="D" if few else "o", label=kind, rasterized=True, zorder=3 if few else 2,
        )  # fmt: skip
    if positions:
        places = plane.places[len(types) :]
        marks = axes.scatter(
            places[:, 0], places[:, 1], s=8, c=np.arange(positions), cmap="magma", lw=0, label="positions"
        )
        figure.colorbar(marks, ax=axes, label="position", fraction=0.04)
    axes.set(
        title=titled("Word and position embeddings, principal components", model),
        xlabel=f"first component ({plane.shares[0]:.1%} of the variance)",
        ylabel=f"second component ({plane.shares[1]:.1%})",
    )
    legend = figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=7)
    for handle in legend.legend_handles:
        handle.set_sizes([24])  # type: ignore[union-attr]
    return figure


@for_print
def draw_cosines(counts: Integers, marked: dict[str, float], model: str = "") -> Figure:
    """Draw the histogram of all word-position cosines, with single pairs marked.

    Args:
        counts: pairs in equal bins from -1 to 1.
        marked: cosine of each pair to be marked, by its name.
        model: its name, for the title.
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
        xlabel="cosine", ylabel="pairs", yscale="log" if len(seen) else "linear", xlim=(low - 0.05, high + 0.05),
    )  # fmt: skip
    if marked:
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center")
    return figure


@for_print
def draw_position_attention(attention: Floats, model: str = "") -> Figure:
    """Draw the first layer's attention from positions alone, a panel a head: `[heads, query, key]`."""
    title = titled("Attention of layer 1 from position embeddings alone", model)
    figure, every = panels(len(attention), title, square=True)
    floor = max(float(attention[attention > 0].min()), 1e-4)
    for head, axes in enumerate(every):
        image = axes.imshow(
            np.maximum(attention[head], floor), cmap="magma", norm=LogNorm(floor, 1), interpolation="nearest"
        )
        axes.set(title=f"head {head}")
    label_outer(every, "key position", "query position")
    figure.colorbar(image, ax=every, label="attention weight", fraction=0.02)
    return figure
