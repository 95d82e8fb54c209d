"""The figures of the parts of compare that are lines: diversity, neighbours, matches and shift."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ops.compare.unit_matches import UNIVERSAL_FROM
from ops.figures.files import save_figures
from ops.figures.lines import draw_lines, layer_names, lines, longer, with_panels
from ops.figures.panels import finish, from_zero, panels
from ops.figures.style import LEVEL
from ops.storage.store import Store

FOLDER = "compare/figures"
_DIVERSITY_PANELS = {
    "mean squared distance to the nearest centre (dotted: a uniform sample of sentences)": (
        ("sse_per_point", "-"),
        ("uniform_per_point", ":"),
    ),
    "winners' squared distances divided by those of the uniform sample": (("ratio", "-"),),
}
_NEAREST_LINES = (
    ("correlation", "nearest neuron", "correlation"),
    ("correlation", "nearest axis of a random rotation", "correlation_of_rotated"),
    ("correlation", "nearest neuron, sentences shuffled", "correlation_of_shuffled"),
    ("overlap", "nearest neuron", "overlap"),
    ("overlap", "random sentences as winners", "overlap_of_shuffled"),
)
_REACHES = {"within": "neurons of the same layer", "across": "neurons of other layers"}
_KINDS = {"correlation": "correlation of activations", "overlap": "share of common winners"}
_MATCH_LINES = (("", "best match in the other run", "correlated"), ("", "best axis of rotated layers", "rotated"))
MOST_LINES = 6  # maximum number of text sets that are drawn by layer
_DISTANCES = ("manhattan", "euclidean")


def draw_curves(store: Store, diversity: pa.Table, model: str) -> list[str]:
    """Draw the error per winner and its ratio to uniform sentences by layer, and return the file names."""
    uniform = diversity["sse_of_uniform"]
    table = diversity.append_column("uniform_per_point", pc.divide(uniform, diversity["n"].cast(pa.float64())))
    known = pc.if_else(pc.greater(uniform, 0), uniform, None)
    table = table.append_column("ratio", pc.divide(diversity["sse"], known))
    title = "How diverse the winners of a layer are (after Oba 2021, Figure 3)"
    figure, grid = panels(list(_DIVERSITY_PANELS), title, model, own_scales=True)
    names, numbers = layer_names(table), sorted(pc.unique(table["clusters"]).to_pylist())
    for axes, columns in zip(grid, _DIVERSITY_PANELS.values(), strict=True):
        for column, dashes in columns:
            own = names if dashes == "-" else dict.fromkeys(names, "")
            draw_lines(axes, table, "clusters", column, colour="layer", series=own, ordered=True, linestyle=dashes)
        axes.set_xscale("log")
        axes.set_xticks(numbers, [str(number) for number in numbers])
        axes.minorticks_off()
    grid[1].axhline(1, **LEVEL)
    return save_figures(store, f"{FOLDER}/diversity", {"curves": finish(figure, "k-means clusters")})


def draw_nearest(store: Store, nearest: pa.Table, model: str = "") -> list[str]:
    """Draw the mean similarity of the nearest neuron by layer for each kind and reach, and return the file names."""
    labels = {f"{kind}:{reach}": text for reach in _REACHES for kind, text in _KINDS.items()}
    figure = lines(
        with_panels(longer(nearest, *_NEAREST_LINES), "panel", "reach"), "layer", "y", colour="series", panel="panel",
        names={key: _REACHES[key.partition(":")[2]] for key in labels}, own_scales=True, x_label="layer",
        title="How similar the nearest neuron is (mean over neurons drawn from each layer)", model=model,
        y_label=labels,
    )  # fmt: skip
    for axes in figure.axes:
        from_zero(axes)
    return save_figures(store, f"{FOLDER}/neighbours", {"nearest": figure})


def draw_matches(store: Store, universal: pa.Table, model: str, other: str) -> list[str]:
    """Draw the share of units above a threshold, next to rotated layers and as the excess over them by layer."""
    by_layer = universal.filter(pc.and_(pc.is_valid(universal["layer"]), pc.is_valid(universal["share"])))
    titles = ["all layers, by the minimum absolute correlation"]
    titles += [f"each layer, by the minimum excess over rotated layers (dotted: {UNIVERSAL_FROM})"] * bool(
        len(by_layer)
    )
    figure, grid = panels(titles, f"Units of {model} with a match in {other}")
    whole = universal.filter(pc.is_null(universal["layer"]))
    draw_lines(grid[0], longer(whole, *_MATCH_LINES), "threshold", "y", colour="series")
    for axes in grid[1:]:
        draw_lines(axes, by_layer, "threshold", "share", colour="layer", series=layer_names(by_layer), ordered=True)
        axes.axvline(UNIVERSAL_FROM, **LEVEL, linestyle=":")
    grid[0].set_ylim(-0.02, 1.02)
    return save_figures(store, f"{FOLDER}/matches", {"universal": finish(figure, "threshold", "share of units")})


def draw_shift(store: Store, tables: dict[str, pa.Table], model: str, against: str) -> list[str]:
    """Draw both distances with intervals, by text set and by layer, and return the file names.

    If there are too many text sets for distinct lines, the panels by layer show those that moved most.
    """
    rows = tables["compare/shift_layers"]
    whole, layers = (rows.filter(test(rows["layer"], 0)) for test in (pc.equal, pc.greater))
    moved = whole.sort_by([("manhattan", "descending")])["text_set"].to_pylist()[:MOST_LINES]
    titles = [f"{distance}, {of}" for distance in _DISTANCES for of in ("all layers together", "by layer")]
    title = f"{model} and {against}: mean distance between a sentence's two vectors (95 % intervals)"
    figure, grid = panels(titles, title, own_scales=True)
    for distance, left, right in zip(_DISTANCES, grid[::2], grid[1::2], strict=True):
        ends: dict[str, Any] = {"low": f"{distance}_low", "high": f"{distance}_high"}
        draw_lines(left, whole, "text_set", distance, points=True, **ends)
        draw_lines(right, layers, "layer", distance, colour="text_set", series={n: n for n in moved}, **ends)
        for axes in (left, right):
            from_zero(axes)
    return save_figures(store, f"{FOLDER}/shift", {"shift": finish(figure, "text set, or layer", "distance")})
