"""The figures of psi: by cluster, by type and by token, and of word and position embeddings (Maeda 2024)."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from torch import nn

from ops.arrays import Float32s, Float64s, Floats, Integers
from ops.figures.lines import lines
from ops.figures.maps import colour_bar, heat_map, largest, scatter
from ops.figures.panels import finish, logarithmic, panels, set_scale
from ops.figures.style import COLOURS, DIVERGING, GROUND, INK, PALE, SEQUENTIAL
from ops.model.attention_modules import head_projections, position_embeddings, word_embeddings
from ops.model.direction import is_decoder
from ops.model.load import ModelFacts
from ops.psi.position_geometry import cosine, cosine_histogram, position_attention
from ops.psi.token_types import TYPES
from ops.statistics.principal_plane import Plane, principal_plane
from ops.storage.store import Store
from ops.storage.tables import read_table

TOP_CLUSTERS, COSINE_BINS, POSITIONS, LEAST_OCCURRENCES = 3, 1_000, 64, 10
LEAST_RANGE = 0.3  # doublings at the end of the scale of attention, so that noise stays pale
_FIRST_TOKENS = ("[CLS]", "<s>")
_SERIES = {
    "highest": "head of the highest first cluster",
    "lowest": "head of the lowest",
    "all": "mean of all heads (band: lowest to highest)",
}


def static_figures(store: Store, model: nn.Module, facts: ModelFacts) -> dict[str, Figure]:
    """Return the figures of what the word and position embeddings alone show; a model may lack the latter."""
    clusters = read_table(store, "psi/clusters", columns=["psi_qkv", "type"])
    heads = head_projections(model, facts)
    shape = (facts.layers, heads[0].heads, -1)
    types = np.array([TYPES.index(t) for t in clusters["type"].to_pylist()]).reshape(shape)
    figures = {
        "psi_by_cluster": clusters_figure(clusters["psi_qkv"].to_numpy().astype(np.float64).reshape(shape)),
        "top_cluster_types": types_figure(types[:, :, :TOP_CLUSTERS]),
    }
    vocabulary = read_table(store, "psi/vocabulary", columns=["token", "type"])
    words, embeddings = word_embeddings(model, facts).numpy(), position_embeddings(model)
    if embeddings is not None:
        table, start = embeddings
        positions = table.weight.detach()[start:]
        order, names, causal = positions.numpy(), vocabulary["token"].to_pylist(), is_decoder(facts)
        first = {f"{t} with position 0": cosine(words[names.index(t)], order[0]) for t in _FIRST_TOKENS if t in names}
        marked = {name: value for name, value in first.items() if np.isfinite(value)}
        attention = position_attention(model, heads[0], positions[:POSITIONS], causal)
        figures |= {
            "embedding_plane": plane_figure(
                principal_plane(np.concatenate([words, order])), vocabulary["type"].to_pylist()
            ),
            "word_position_cosines": cosines_figure(cosine_histogram(words, order, COSINE_BINS), marked),
            "position_attention": attention_figure(attention, causal),
        }
    return figures


def layer_pairs(store: Store, layer: int) -> tuple[Float32s, Float32s]:
    """Return static and contextual psi_qkv for every head of a layer and every token that occurs often enough."""
    here = pc.field("layer") == layer
    often = here & (pc.field("n") >= LEAST_OCCURRENCES)
    own = read_table(store, "psi/contextual", often, ["head", "token_id", "psi_qkv_mean"])
    alone = read_table(store, "psi/tokens", here, ["head", "token_id", "psi_qkv"])
    tokens = int(pc.max(alone["token_id"]).as_py()) + 1
    static = alone["psi_qkv"].to_numpy()[own["head"].to_numpy().astype(np.int64) * tokens + own["token_id"].to_numpy()]
    contextual = own["psi_qkv_mean"].to_numpy()
    known = np.isfinite(static) & (static > 0) & (contextual > 0)
    return static[known], contextual[known]


def clusters_figure(psi: Float64s) -> Figure:
    """Draw psi_qkv of each layer's clusters in descending order: the extreme heads, and the mean and range of all.

    Args:
        psi: psi_qkv of the clusters, `[layers, heads, ranks]`.
    """
    names, parts, ranks = {}, [], np.arange(1, psi.shape[2] + 1)
    for layer, values in enumerate(psi, 1):
        first = values[:, 0]
        extremes = {"highest": int(first.argmax())} | ({"lowest": int(first.argmin())} if len(values) > 1 else {})
        names[layer] = f"layer {layer}: " + ", ".join(f"{word} {head}" for word, head in extremes.items())
        shown = {series: {"y": values[head]} for series, head in extremes.items()}
        shown["all"] = {"y": values.mean(0), "low": values.min(0), "high": values.max(0)}
        for series, columns in shown.items():
            repeated = {"layer": pa.repeat(layer, len(ranks)), "series": pa.repeat(series, len(ranks))}
            parts.append(pa.table({"rank": ranks, **columns, **repeated}))
    figure = lines(
        pa.concat_tables(parts, promote_options="default"), "rank", series=_SERIES, panel="layer", names=names,
        y_scale="log", x_label="rank of the cluster", y_label="psi_qkv (no unit)",
        title="psi_qkv of the clusters of the vocabulary, from each head's highest to its lowest",
    )  # fmt: skip
    set_scale(figure.axes[0], "x", "log")
    return figure


def types_figure(types: Integers) -> Figure:
    """Draw the types of each head's top clusters as a map of layers and heads, the first cluster on the left.

    Args:
        types: indices in `TYPES`, `[layers, heads, top]`.
    """
    layers, heads, top = types.shape
    title = f"Types of each head's {top} clusters of highest psi_qkv"
    figure, (axes,) = panels([], title, height=0.4 + 0.2 * layers)
    shades = ListedColormap(COLOURS[: len(TYPES)])
    heat_map(
        axes, types.reshape(layers, heads * top).astype(np.float64), -0.5, len(TYPES) - 0.5, cmap=shades, aspect="auto"
    )
    for x in range(1, heads * top):
        axes.axvline(x - 0.5, color=GROUND, lw=3 if x % top == 0 else 0.6)
    for y in range(1, layers):
        axes.axhline(y - 0.5, color=GROUND, lw=3)
    axes.set_xticks(np.arange(heads) * top + (top - 1) / 2, [str(head) for head in range(heads)])
    axes.set_yticks(np.arange(layers), [str(layer + 1) for layer in range(layers)])
    patches = [Patch(color=colour, label=kind) for kind, colour in zip(TYPES, COLOURS, strict=False)]
    figure.legend(handles=patches, loc="outside lower center", ncols=3)
    return finish(figure, "head", "layer")


def pairs_figure(pairs: list[tuple[Floats, Floats]]) -> Figure:
    """Draw each layer's psi_qkv of the word embedding alone against its mean over the corpus, for all heads."""
    of = f"tokens that occur {LEAST_OCCURRENCES} times or more"
    title = f"psi_qkv (no unit) of word embeddings and of real inputs, {of}"
    figure, grid = panels([f"layer {layer}" for layer in range(1, len(pairs) + 1)], title)
    everything = np.concatenate([np.concatenate(pair) for pair in pairs])
    low, high = (np.quantile(everything, [0.0001, 0.9999]) * (0.8, 1.25)) if len(everything) else (0.1, 10.0)
    shades, most = LogNorm(1, 2), 2.0  # one scale for all panels, so that colours can be compared
    for axes, (static, contextual) in zip(grid, pairs, strict=True):
        if len(static):
            cells = axes.hexbin(
                static, contextual, gridsize=30, xscale="log", yscale="log", mincnt=1, cmap=SEQUENTIAL, lw=0,
                norm=shades, extent=(math.log10(low), math.log10(high)) * 2,
            )  # fmt: skip
            shades.vmax = most = max(most, float(np.max(np.asarray(cells.get_array()))))
        axes.plot([low, high], [low, high], color=INK, lw=0.7, ls="--", label="the same in both")
        axes.set(xlim=(low, high), ylim=(low, high))
        for which in ("x", "y"):
            logarithmic(axes, which, low, high)
    label = "pairs of token and head in a cell (logarithmic)"
    colour_bar(ScalarMappable(shades, SEQUENTIAL), grid, label, format="{x:g}").minorticks_off()
    return finish(figure, "word embedding alone", "mean over the corpus")


def plane_figure(plane: Plane, types: list[str]) -> Figure:
    """Draw word embeddings by type, and position embeddings by their order, on their two principal axes.

    The plane has the words, whose types are given, followed by the positions in order.
    """
    titles = ["word embeddings by type", "position embeddings by position (grey: words)"]
    figure, (left, right) = panels(titles, "Word and position embeddings on their principal components")
    words, places = plane.places[: len(types)], plane.places[len(types) :]
    # The most frequent type first, so that it does not cover the others.
    scatter(left, words, types, largest(types), size=3)
    right.scatter(words[:, 0], words[:, 1], s=1, color=PALE, lw=0, rasterized=True)
    marks = right.scatter(places[:, 0], places[:, 1], s=8, c=np.arange(len(places)), cmap=SEQUENTIAL, lw=0)
    colour_bar(marks, [left, right], "position (tokens)")
    first, second = (f"{share:.1%}" for share in plane.shares[:2])
    return finish(figure, f"first component ({first} of the variance)", f"second component ({second})")


def cosines_figure(counts: Integers, marked: dict[str, float]) -> Figure:
    """Draw the histogram of all word-position cosines, with single pairs marked.

    Args:
        counts: number of pairs in equal bins from -1 to 1.
        marked: the cosine of each pair to mark, by the pair's name.
    """
    title = f"Cosine of every word embedding with every position embedding ({counts.sum():,} pairs)"
    figure, (axes,) = panels([], title)
    edges = np.linspace(-1, 1, len(counts) + 1)
    axes.stairs(counts, edges, fill=True, color=COLOURS[0])
    axes.axvline(0, lw=0.6)
    for (name, value), dashes in zip(marked.items(), ("--", ":"), strict=False):
        axes.axvline(value, color=COLOURS[1], lw=1.2, ls=dashes, label=f"{name}: {value:.3f}")
    ends = [*edges[:-1][counts > 0], *marked.values()] or [-1.0, 1.0]
    axes.set(yscale="log" if counts.any() else "linear", xlim=(min(ends) - 0.05, max(ends) + 0.05))
    return finish(figure, "cosine", "pairs (logarithmic)")


def attention_figure(attention: Floats, causal: bool) -> Figure:
    """Draw the first layer's attention from positions alone, `[heads, query, key]`, with one panel for each head.

    A weight is drawn relative to equal weights of all keys that the query attends to, so that a head without any
    preference for positions is pale, whatever the number of keys.

    Args:
        attention: the weights; those of each query have the sum 1.
        causal: whether a query attends to no later key. These cells stay empty.
    """
    positions = attention.shape[1]
    seen = np.tri(positions, dtype=np.bool_) if causal else np.ones((positions, positions), np.bool_)
    relative = np.where(seen, attention * seen.sum(1, keepdims=True), np.nan)
    doubled = np.log2(np.maximum(relative, 1e-6))
    most = max(float(np.nanquantile(np.abs(doubled), 0.99)), LEAST_RANGE)
    title = "Attention of layer 1 from position embeddings alone, by position of query and key"
    figure, grid = panels([f"head {head}" for head in range(len(attention))], title)
    for axes, values in zip(grid, doubled, strict=True):
        image = heat_map(axes, values, -most, most, cmap=DIVERGING)
    bar = colour_bar(image, grid, "attention weight, in multiples of equal weights (logarithmic)", extend="both")
    ticks = np.linspace(-most, most, 5).tolist()
    bar.set_ticks(ticks, labels=[f"{2**tick:.2g}" for tick in ticks])
    return finish(figure, "key (tokens)", "query (tokens)")
