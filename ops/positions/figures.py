"""The figures of positions, drawn from its tables alone, as PNG, PDF and SVG."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ops.arrays import Float64s
from ops.figures import (
    AMBER,
    BAND,
    BLACK,
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    LETTERS,
    PAGE,
    VERMILLION,
    distinct_lines,
    for_print,
    label_outer,
    ordered_colours,
    panels,
    save_figures,
    titled,
)
from ops.positions.compare import REFERENCES
from ops.positions.labels import MAJORITY, TOKENS
from ops.positions.variants import DEFAULT, VARIANTS
from ops.storage.store import Store

FOLDER = "positions/figures"
_LINES = {
    "default": (BLACK, "-o", "same token, default state"),
    "default_centred": (BLUE, "-s", "same token, mean subtracted"),
    "random_pair": (VERMILLION, "--^", "a token of another text"),
    "random_pair_centred": (GREEN, "--v", "another token, mean subtracted"),
    "gaussian": (GREY, ":", "two random Gaussian vectors"),
}
_FEATURES = {TOKENS: "a bag of tokens", MAJORITY: "most frequent label"}
_TITLES = {
    "default": "positions as they are", "none": "no positions", "shuffled": "positions shuffled",
    "shifted": "positions shifted", "constant": "one position for all",
}  # fmt: skip
_FEWEST = 30  # minimum number of values behind a point of a line by position


def draw_all(store: Store, tables: dict[str, pa.Table], model: str) -> list[str]:
    """Draw every figure into `positions/figures/` and return the file names.

    Args:
        store: the run's folder.
        tables: the job's tables. Those of perplexity are empty for an encoder, and labels may be missing.
        model: name of the model, for the titles.
    """
    by_position = tables["positions/perplexity_by_position"]
    drawings: dict[str, Callable[[], Figure]] = {
        "cosine_by_layer": lambda: draw_layers(tables["positions/similarity"], model),
        "cosine_by_position": lambda: draw_positions(tables["positions/by_position"], model),
        "norms": lambda: draw_norms(tables["positions/norms"], model),
    }
    if tables["positions/perplexity"].num_rows:
        drawings["perplexity"] = lambda: draw_perplexity(tables["positions/perplexity"], model)
        drawings["perplexity_by_position"] = lambda: draw_perplexity_positions(by_position, model)
    if "positions/labels" in tables and tables["positions/labels"].num_rows:
        drawings["labels"] = lambda: draw_labels(tables["positions/labels"], model)
    return save_figures(store, FOLDER, drawings)


@for_print
def draw_layers(similarity: pa.Table, model: str) -> Figure:
    """Draw the mean cosine with each reference by layer, with a panel for each variant."""
    variants = [v for v in _variants(similarity) if v != DEFAULT]
    title = titled("Cosine of a token's state with a reference by layer (band: standard deviation)", model)
    figure, axes = panels(max(len(variants), 1), title)
    for panel, variant in zip(axes, variants, strict=False):
        own = similarity.filter(pc.equal(similarity["variant"], variant))
        for reference in REFERENCES:
            line = own.filter(pc.equal(own["reference"], reference))
            colour, style, label = _LINES[reference]
            layers, mean, std = (_floats(line[c]) for c in ("layer", "mean", "std"))
            panel.plot(layers, mean, style, color=colour, markersize=3, label=label)
            if reference == "default":
                panel.fill_between(layers, mean - std, np.minimum(mean + std, 1), color=colour, **BAND)
        tokens = own.filter(pc.equal(own["reference"], "default"))["n"].to_pylist()
        panel.set_title(f"{in_words(variant)}\n{max(tokens, default=0):,} tokens")
        panel.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes[0].set_ylim(top=1.03)
    label_outer(axes, "layer", "mean cosine")
    if variants:
        _legend_below(figure, axes[0])
    return figure


@for_print
def draw_positions(places: pa.Table, model: str) -> Figure:
    """Draw the mean cosine with the default state by position, a panel for each variant and a line for each layer."""
    places = places.filter(pc.and_(pc.equal(places["reference"], "default"), pc.greater_equal(places["n"], _FEWEST)))
    variants = _variants(places)
    title = titled(f"Cosine with the default state by position in the text ({_FEWEST} tokens or more)", model)
    figure, axes = panels(max(len(variants), 1), title)
    layers = sorted(set(places["layer"].to_pylist()))
    colours = ordered_colours(len(layers))
    for panel, variant in zip(axes, variants, strict=False):
        own = places.filter(pc.equal(places["variant"], variant))
        for layer, colour in zip(layers, colours, strict=True):
            line = own.filter(pc.equal(own["layer"], layer))
            panel.plot(_floats(line["position"]), _floats(line["mean"]), color=colour, label=f"layer {layer}")
        panel.set_title(in_words(variant))
    label_outer(axes, "position in the text (tokens)", "mean cosine")
    if variants:
        _legend_below(figure, axes[0])
    return figure


@for_print
def draw_perplexity(perplexity: pa.Table, model: str) -> Figure:
    """Draw the perplexity of each variant, computed in three ways, on a logarithmic axis."""
    rows = {row["variant"]: row for row in perplexity.to_pylist()}
    variants = [v for v in VARIANTS if v in rows]
    figure = Figure(figsize=(PAGE, 1.2 + 0.3 * len(variants)), layout="constrained")
    panel = figure.subplots()
    readings = (
        ("corpus", "exp of the mean loss of all tokens"),
        ("mean", "mean of the texts' perplexities"),
        ("token_mean", "mean of 1/p of all tokens"),
    )
    for place, (column, label) in enumerate(readings):
        values = [rows[v][column] for v in variants]
        panel.plot(values, range(len(variants)), "os^"[place], color=COLOURS[place], label=label)
    for y, variant in enumerate(variants):
        value = rows[variant]["corpus"]
        panel.annotate(f"{value:,.4g}", (value, y), (0, 5), textcoords="offset points", ha="center", fontsize=LETTERS)
    panel.set_xscale("log")
    panel.set_yticks(range(len(variants)), variants)
    panel.set_ylim(len(variants) - 0.5, -0.7)
    panel.set_xlabel("perplexity (logarithmic; lower is better)")
    panel.grid(axis="x", alpha=0.3)
    _legend_below(figure, panel)
    panel.set_title(titled(f"Perplexity of {rows[variants[0]]['n']:,} texts", model))
    return figure


@for_print
def draw_perplexity_positions(places: pa.Table, model: str) -> Figure:
    """Draw perplexity by position in the text for each variant, and how far its loss is above the default."""
    places = places.filter(pc.greater_equal(places["n"], _FEWEST))
    own = places.filter(pc.equal(places["variant"], DEFAULT))
    default = dict(zip(own["position"].to_pylist(), own["loss"].to_pylist(), strict=True))
    figure = Figure(figsize=(PAGE, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    variants = _variants(places)
    for variant, look in zip(variants, distinct_lines(len(variants)), strict=True):
        line = places.filter(pc.equal(places["variant"], variant))
        left.plot(_floats(line["position"]), _floats(line["perplexity"]), label=variant, **look)
        above = [
            loss - default[at] for at, loss in zip(*(line[c].to_pylist() for c in ("position", "loss")), strict=True)
        ]
        right.plot(_floats(line["position"]), above, **look)
    left.set_yscale("log")
    left.set_ylabel("perplexity")
    right.set_ylabel("loss above the default, nats")
    for panel in (left, right):
        panel.set_xlabel("position of the predicted token (tokens)")
    _legend_below(figure, left)
    figure.suptitle(titled(f"Perplexity by position in the text ({_FEWEST} tokens or more)", model))
    return figure


@for_print
def draw_norms(norms: pa.Table, model: str) -> Figure:
    """Draw the norm of each position embedding, and its ratio to the norm of the model's input."""
    figure = Figure(figsize=(PAGE, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(_floats(norms["position"]), _floats(norms["norm"]), color=BLACK, label="position embedding")
    seen = norms.filter(pc.greater_equal(norms["n"], _FEWEST))
    left.plot(
        _floats(seen["position"]),
        _floats(seen["input_norm"]),
        color=VERMILLION,
        linestyle="--",
        label="sum of all embeddings, mean over tokens",
    )
    left.set_title("length of the vectors")
    left.set_xscale("symlog", linthresh=1)
    left.xaxis.set_major_formatter("{x:g}")
    left.set_ylabel("Euclidean norm")
    left.set_ylim(bottom=0)
    right.plot(
        _floats(seen["position"]),
        _floats(seen["ratio"]),
        color=BLUE,
        label="position embedding's norm / norm of the sum",
    )
    right.plot(
        _floats(seen["position"]),
        _floats(seen["share"]),
        color=AMBER,
        linestyle="-.",
        label="position embedding's share of the squared norm",
    )
    right.set_title("what the position embedding contributes")
    right.set_ylabel("ratio, mean over tokens")
    right.axhline(0, color="0.8", linewidth=0.8)
    left.set_xlabel("position in the text (tokens, logarithmic)")
    right.set_xlabel("position in the text (tokens)")
    handles, labels = (a + b for a, b in zip(*(p.get_legend_handles_labels() for p in (left, right)), strict=True))
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    figure.suptitle(titled(f"Position embeddings in the model's input (means: {_FEWEST} tokens or more)", model))
    return figure


@for_print
def draw_labels(labels: pa.Table, model: str) -> Figure:
    """Draw the accuracy of each classifier with its interval."""
    rows = sorted(labels.to_pylist(), key=lambda row: -row["accuracy"])
    figure = Figure(figsize=(PAGE, 1.0 + 0.25 * len(rows)), layout="constrained")
    panel = figure.subplots()
    values = np.array([[row[c] * 100 for c in ("accuracy", "low", "high")] for row in rows])
    off = np.abs(values[:, 1:] - values[:, :1]).T
    panel.errorbar(values[:, 0], range(len(rows)), xerr=off, fmt="o", color=BLUE, capsize=3)
    panel.set_yticks(range(len(rows)), [_FEATURES.get(row["features"], row["features"]) for row in rows])
    panel.invert_yaxis()
    splits = f"mean of {rows[0]['splits']} splits, 95 % interval"
    panel.set_xlabel(f"accuracy on about {rows[0]['n']:,} texts of held-out documents, % ({splits})")
    panel.grid(axis="x", alpha=0.3)
    panel.set_title(titled(f"Linear classifiers of {rows[0]['label']}", model))
    return figure


def _legend_below(figure: Figure, panel: Axes) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)


def in_words(variant: str) -> str:
    """Return the name of a variant in a panel's title.

    >>> in_words("shuffled"), in_words("none_self_only")
    ('positions shuffled', 'none self only')
    """
    return _TITLES.get(variant, variant.replace("_", " "))


def _variants(table: pa.Table) -> list[str]:
    there = set(table["variant"].to_pylist())
    return [name for name in VARIANTS if name in there]


def _floats(column: Any) -> Float64s:
    return np.array(column.to_pylist(), np.float64)
