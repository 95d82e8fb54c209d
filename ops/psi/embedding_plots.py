"""Plots of word and position embeddings (Maeda 2024), drawn from arrays."""

import numpy as np
from matplotlib.figure import Figure

from ops.arrays import Floats, Integers
from ops.figures.maps import heat_map, scatter
from ops.figures.panels import finish, panels
from ops.figures.style import COLOURS, DIVERGING, PALE, SEQUENTIAL
from ops.psi.position_geometry import Plane
from ops.psi.token_types import TYPES

LEAST_RANGE = 0.3  # doublings at the end of the scale of attention, so that noise stays pale


def draw_plane(plane: Plane, types: list[str], positions: int, model: str = "") -> Figure:
    """Draw word embeddings by type, and position embeddings by their order, on their two principal axes.

    Args:
        plane: the coordinates of the words, followed by those of `positions` positions in order.
        types: the type of each word.
        positions: number of position embeddings; if it is 0, only the words are drawn.
        model: the model's name, for the title.
    """
    titles = ["word embeddings by type"] + ["position embeddings by position (grey: words)"] * bool(positions)
    figure, grid = panels(titles, "Word and position embeddings on their principal components", model)
    words, places = plane.places[: len(types)], plane.places[len(types) :]
    counts = {kind: types.count(kind) for kind in TYPES}
    # The most frequent type first, so that it does not cover the others.
    named = {kind: f"{kind}, {counts[kind]:,}" for kind in sorted(TYPES, key=lambda kind: -counts[kind])}
    scatter(grid[0], words, types, named, size=3)
    if positions:
        grid[1].scatter(words[:, 0], words[:, 1], s=1, color=PALE, lw=0, rasterized=True)
        marks = grid[1].scatter(places[:, 0], places[:, 1], s=8, c=np.arange(positions), cmap=SEQUENTIAL, lw=0)
        figure.colorbar(marks, ax=grid, label="position (tokens)", location="bottom", aspect=40, fraction=0.05)
    first, second = (f"{share:.1%}" for share in plane.shares[:2])
    return finish(figure, f"first component ({first} of the variance)", f"second component ({second})")


def draw_cosines(counts: Integers, marked: dict[str, float], model: str = "") -> Figure:
    """Draw the histogram of all word-position cosines, with single pairs marked.

    Args:
        counts: number of pairs in equal bins from -1 to 1.
        marked: the cosine of each pair to mark, by the pair's name.
        model: the model's name, for the title.
    """
    title = f"Cosine of every word embedding with every position embedding ({counts.sum():,} pairs)"
    figure, (axes,) = panels([], title, model)
    edges = np.linspace(-1, 1, len(counts) + 1)
    axes.stairs(counts, edges, fill=True, color=COLOURS[0])
    axes.axvline(0, lw=0.6)
    for (name, value), dashes in zip(marked.items(), ("--", ":"), strict=False):
        axes.axvline(value, color=COLOURS[1], lw=1.2, ls=dashes, label=f"{name}: {value:.3f}")
    ends = [*edges[:-1][counts > 0], *marked.values()] or [-1.0, 1.0]
    axes.set(yscale="log" if counts.any() else "linear", xlim=(min(ends) - 0.05, max(ends) + 0.05))
    return finish(figure, "cosine", "pairs (logarithmic)")


def draw_position_attention(attention: Floats, causal: bool, model: str = "") -> Figure:
    """Draw the first layer's attention from positions alone, `[heads, query, key]`, with one panel for each head.

    A weight is drawn relative to equal weights of all keys that the query attends to, so that a head without any
    preference for positions is pale, whatever the number of keys.

    Args:
        attention: the weights; those of each query have the sum 1.
        causal: whether a query attends to no later key. These cells stay empty.
        model: the model's name, for the title.
    """
    positions = attention.shape[1]
    seen = np.tri(positions, dtype=np.bool_) if causal else np.ones((positions, positions), np.bool_)
    relative = np.where(seen, attention * seen.sum(1, keepdims=True), np.nan)
    doubled = np.log2(np.maximum(relative, 1e-6))
    most = max(float(np.nanquantile(np.abs(doubled), 0.99)), LEAST_RANGE)
    title = "Attention of layer 1 from position embeddings alone, by position of query and key"
    figure, grid = panels([f"head {head}" for head in range(len(attention))], title, model)
    for axes, values in zip(grid, doubled, strict=True):
        image = heat_map(axes, values, -most, most, cmap=DIVERGING)
    bar = figure.colorbar(image, ax=grid, location="bottom", aspect=40, fraction=0.05, extend="both")
    ticks = np.linspace(-most, most, 5)
    bar.set_ticks(ticks, labels=[f"{2**tick:.2g}" for tick in ticks])
    bar.set_label("attention weight, in multiples of equal weights (logarithmic)")
    return finish(figure, "key (tokens)", "query (tokens)")
