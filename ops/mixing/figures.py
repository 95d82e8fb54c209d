"""The figures of mixing, drawn from its tables alone, as PNG, PDF and SVG (modelled on Kobayashi 2021)."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from ops.arrays import Arrays, Float64s
from ops.figures import (
    BAND,
    BLUE,
    LETTERS,
    ON_DARK,
    ON_PALE,
    PAGE,
    SEQUENTIAL,
    VERMILLION,
    for_print,
    label_outer,
    ordered_colours,
    save_figures,
    titled,
)
from ops.mixing.decomposition import LAYER_STAGES
from ops.storage.store import Store

FOLDER = "mixing/figures"
STAGE_TITLES = {
    "attn": "attention alone",
    "attn_res": "attention + residual",
    "attn_res_ln": "attention + residual + LayerNorm",
}
CLASS_TITLES = {
    "all": "all",
    "cls": "[CLS]",
    "sep": "[SEP]",
    "mask": "[MASK]",
    "punct": "period or comma",
    "other": "other",
}
_LENGTH_BINS = 12


def draw_all(store: Store, tables: dict[str, pa.Table], model: str) -> list[str]:
    """Draw every figure into `mixing/figures/` and return the file names.

    Args:
        store: the run's folder.
        tables: `mixing/ratios`, `mixing/lengths`, `mixing/norms`.
        model: name of the model, for the titles.
    """
    drawings: dict[str, Callable[[], Figure]] = {
        "ratios": lambda: draw_ratios(tables["mixing/ratios"], model),
        "lengths": lambda: draw_lengths(tables["mixing/lengths"], model),
        "norms_attention": lambda: draw_attention_norms(tables["mixing/norms"], model),
        "norms_residual": lambda: draw_residual_norms(tables["mixing/norms"], model),
    }
    return save_figures(store, FOLDER, drawings)


@for_print
def draw_ratios(ratios: pa.Table, model: str) -> Figure:
    """Draw the mean mixing ratio by layer and token class, with a heat map for each stage (as Figures 2 and 6)."""
    stages, classes = _present(ratios, "stage", LAYER_STAGES), _present(ratios, "token_class", CLASS_TITLES)
    layers = _layers(ratios)
    figure = Figure(figsize=(PAGE, 2.1 + 0.17 * len(layers)), layout="constrained")
    panels = figure.subplots(1, len(stages), sharey=True, squeeze=False)[0]
    grids = {s: _grid(ratios, "stage", s, classes, len(layers))[0] * 100 for s in stages}
    counts = _counts(ratios, classes)
    highest = max(float(np.nanmax(grid)) for grid in grids.values())
    for panel, stage in zip(panels, stages, strict=True):
        image = panel.imshow(grids[stage], origin="lower", aspect="auto", cmap=SEQUENTIAL, vmin=0, vmax=highest)
        middle = highest * 0.55
        for (y, x), value in np.ndenumerate(grids[stage]):
            if np.isfinite(value):
                colour = ON_PALE if value > middle else ON_DARK
                panel.text(x, y, f"{value:.0f}", ha="center", va="center", color=colour, fontsize=LETTERS)
        labels = [f"{CLASS_TITLES[c]}, {_short(counts[c])}" for c in classes]
        panel.set_xticks(range(len(classes)), labels, rotation=90)
        panel.set_yticks(range(len(layers)), [str(layer) for layer in layers])
        panel.set_title(STAGE_TITLES[stage])
        panel.set_xlabel("class of token, with count")
    figure.colorbar(image, ax=panels, label="mixing ratio, %", fraction=0.03)
    panels[0].set_ylabel("layer")
    figure.suptitle(titled("Mean mixing ratio by layer and token class", model))
    return figure


@for_print
def draw_lengths(lengths: pa.Table, model: str) -> Figure:
    """Draw the mean mixing ratio by length of the sequences, with a panel for each stage and a line for each layer.

    All stages share one logarithmic scale: attention alone mixes many times as much as attention with the residual.
    """
    stages = _present(lengths, "stage", LAYER_STAGES)
    layers = _layers(lengths)
    figure = Figure(figsize=(PAGE, 3.0), layout="constrained")
    panels = figure.subplots(1, len(stages), sharey=True, squeeze=False)[0]
    colors = ordered_colours(len(layers))
    total = 0
    for panel, stage in zip(panels, stages, strict=True):
        for layer, color in zip(layers, colors, strict=True):
            own = lengths.filter(pc.and_(pc.equal(lengths["stage"], stage), pc.equal(lengths["layer"], layer)))
            middle, mean, std = _binned(*(own[c].to_numpy() for c in ("length", "n", "mean", "std")))
            total = int(own["n"].to_numpy().sum())
            panel.plot(middle, mean * 100, marker=".", color=color, label=f"layer {layer}")
            if layer in (layers[0], layers[-1]):
                low, high = np.maximum(mean - std, mean / 10), mean + std
                panel.fill_between(middle, low * 100, high * 100, color=color, **BAND)
        panel.set_title(STAGE_TITLES[stage])
        panel.set_xlabel("tokens in the sequence")
    if any(lengths["mean"].to_numpy() > 0):
        panels[0].set_yscale("log")
        panels[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panels[0].yaxis.set_major_formatter("{x:g}")
        panels[0].yaxis.set_minor_formatter(NullFormatter())
    panels[0].set_ylabel("mean mixing ratio, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    about = f"at most {_LENGTH_BINS} groups of similar size; bands: standard deviation, first and last layer"
    figure.suptitle(f"{titled(f'Mixing ratio by length, {total:,} tokens', model)}\n({about})")
    return figure


@for_print
def draw_attention_norms(norms: pa.Table, model: str) -> Figure:
    """Draw the norms of attention's mixing and preserving parts by layer, a panel for each class (as Figures 3, 7)."""
    shown = {
        "attn_mixing": "from other tokens (mixing)",
        "attn_preserving": "from the token itself (preserving)",
    }
    title = titled("What attention adds to a token's vector (bands: standard deviation)", model)
    return _draw_norms(norms, shown, title)


@for_print
def draw_residual_norms(norms: pa.Table, model: str) -> Figure:
    """Draw the norms of the residual before and after LayerNorm, a panel for each class (as Figures 4, 5)."""
    shown = {"residual": "before LayerNorm", "residual_ln": "its part after LayerNorm"}
    title = titled("The residual stream that attention adds to (bands: standard deviation)", model)
    return _draw_norms(norms, shown, title)


def _draw_norms(norms: pa.Table, quantities: Mapping[str, str], title: str) -> Figure:
    """Draw one or two quantities by layer, a panel for each class of tokens and a line for each quantity.

    Args:
        norms: rows of `mixing/norms/`.
        quantities: the label of each quantity; those that the table lacks are skipped.
        title: the title of the figure.
    """
    classes, layers = _present(norms, "token_class", CLASS_TITLES), _layers(norms)
    rows = -(-len(classes) // 3)
    figure = Figure(figsize=(PAGE, 0.9 + 1.7 * rows), layout="constrained")
    panels = figure.subplots(rows, min(len(classes), 3), sharex=True, sharey=True, squeeze=False).ravel()
    counts = _counts(norms, classes)
    looks = ((BLUE, "-o"), (VERMILLION, "--s"))
    for panel, name in zip(panels, classes, strict=False):
        for quantity, (colour, style) in zip(_present(norms, "quantity", quantities), looks, strict=False):
            mean, std = (row[:, 0] for row in _grid(norms, "quantity", quantity, [name], len(layers)))
            panel.plot(layers, mean, style, color=colour, markersize=3, label=quantities[quantity])
            panel.fill_between(layers, np.maximum(mean - std, 0), mean + std, color=colour, **BAND)
        panel.set_title(f"{CLASS_TITLES[name]}, {counts[name]:,} tokens")
        panel.set_xticks(layers)
    for panel in panels[len(classes) :]:
        panel.set_visible(False)
    panels[0].set_ylim(bottom=0)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    label_outer(list(panels[: len(classes)]), "layer", "mean Euclidean norm")
    figure.suptitle(title)
    return figure


def _layers(table: pa.Table) -> list[int]:
    return sorted(set(table["layer"].to_pylist()))


def _present(table: pa.Table, column: str, wanted: Iterable[str]) -> list[str]:
    there = set(table[column].to_pylist())
    return [name for name in wanted if name in there]


def _counts(table: pa.Table, classes: list[str]) -> dict[str, int]:
    found = dict(zip(table["token_class"].to_pylist(), table["n"].to_pylist(), strict=True))
    return {name: found[name] for name in classes}


def _grid(table: pa.Table, column: str, value: str, classes: list[str], layers: int) -> tuple[Float64s, Float64s]:
    """Return means and standard deviations `[layers, classes]` of one stage or quantity, NaN if there are none."""
    grids = np.full((2, layers, len(classes)), np.nan)
    for row in table.filter(pc.equal(table[column], value)).to_pylist():
        if row["token_class"] in classes:
            grids[:, row["layer"] - 1, classes.index(row["token_class"])] = row["mean"], row["std"]
    return grids[0], grids[1]


def _binned(lengths: Arrays, n: Arrays, mean: Arrays, std: Arrays) -> tuple[Float64s, Float64s, Float64s]:
    """Group neighbouring lengths into at most 12 groups of similar size; return their mean length, mean and spread."""
    share = (np.cumsum(n) - n / 2) / n.sum()
    group = (share * _LENGTH_BINS).astype(int)
    weight = np.bincount(group, n)
    there = weight > 0
    squares = std.astype(np.float64) ** 2 + mean.astype(np.float64) ** 2
    middle, value, square = (np.bincount(group, n * v)[there] / weight[there] for v in (lengths, mean, squares))
    return middle, value, np.sqrt(np.maximum(square - value**2, 0))


def _short(count: int) -> str:
    return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count / 1e3:.0f}k" if count >= 1e4 else f"{count:,}"
