"""The figures of mixing, drawn from its tables alone (modelled on Kobayashi 2021)."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.figures.files import save_figures
from ops.figures.lines import Names, layer_names, lines, names_of, rows_where
from ops.figures.maps import heat_map
from ops.figures.panels import finish, from_zero, logarithmic, panels
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
    norms = tables["mixing/norms"]
    attention = {
        "attn_mixing": "from other tokens (mixing)",
        "attn_preserving": "from the token itself (preserving)",
    }
    residual = {"residual": "before LayerNorm", "residual_ln": "its part after LayerNorm"}
    figures = {
        "ratios": draw_ratios(tables["mixing/ratios"], model),
        "lengths": draw_lengths(tables["mixing/lengths"], model),
        "norms_attention": draw_norms(norms, attention, "What attention adds to a token's vector", model),
        "norms_residual": draw_norms(norms, residual, "The residual stream that attention adds to", model),
    }
    return save_figures(store, FOLDER, figures)


def draw_ratios(ratios: pa.Table, model: str) -> Figure:
    """Draw the mean mixing ratio by layer and token class, with a heat map for each stage (as Figures 2 and 6)."""
    stages, classes = names_of(ratios, "stage", STAGE_TITLES), _classes(ratios, "{}, {}")
    layers = list(layer_names(ratios))
    title = "Mean mixing ratio by layer and token class, %"
    figure, grid = panels(list(stages.values()), title, model, height=0.9 + 0.15 * len(layers))
    highest = 100 * pc.max(ratios["mean"]).as_py()
    for axes, stage in zip(grid, stages, strict=True):
        rows = rows_where(ratios, "stage", stage)
        cells = np.full((len(layers), len(classes)), np.nan)
        cells[rows["layer"].to_numpy() - 1, pc.index_in(rows["token_class"], pa.array(list(classes)))] = rows["mean"]
        heat_map(axes, 100 * cells, 0, highest, digits=0, origin="lower", aspect="auto")
        axes.set_xticks(range(len(classes)), list(classes.values()), rotation=90)
        axes.set_yticks(range(len(layers)), [str(layer) for layer in layers])
    return finish(figure, "class of token, with count", "layer")


def draw_lengths(lengths: pa.Table, model: str) -> Figure:
    """Draw the mean mixing ratio by length of the sequences, with a panel for each stage and a line for each layer.

    All stages share one logarithmic scale: attention alone mixes many times as much as attention with the residual.
    """
    layers = layer_names(lengths)
    binned = pa.concat_tables(
        _binned(rows_where(rows_where(lengths, "stage", stage), "layer", layer), stage, layer)
        for stage in names_of(lengths, "stage", STAGE_TITLES)
        for layer in layers
    )
    ends = pc.is_in(binned["layer"], pa.array([min(layers), max(layers)]))
    for name in ("low", "high"):
        binned = binned.append_column(name, pc.if_else(ends, binned[f"_{name}"], None))
    tokens = pc.sum(rows_where(rows_where(lengths, "stage", "attn"), "layer", min(layers))["n"]).as_py()
    figure = lines(
        binned, "length", "mean", low="low", high="high", colour="layer", series=layers, ordered=True, panel="stage",
        names=STAGE_TITLES, model=model, x_label="tokens in the sequence", y_label="mean mixing ratio",
        title=f"Mixing ratio by length, {tokens:,} tokens in at most {_LENGTH_BINS} groups of similar size "
        "(bands: standard deviation, first and last layer)",
    )  # fmt: skip
    logarithmic(figure.axes[0], "y", *pc.min_max(binned["mean"]).as_py().values())
    return figure


def draw_norms(norms: pa.Table, quantities: Mapping[str, str], title: str, model: str) -> Figure:
    """Draw norms by layer, with a panel for each class of tokens and a line for each quantity (as Figures 3 to 5, 7).

    Args:
        norms: rows of `mixing/norms/`.
        quantities: the label of each quantity; those that the table lacks are skipped.
        title, model: the title of the figure.
    """
    table = norms.append_column("low", pc.max_element_wise(pc.subtract(norms["mean"], norms["std"]), 0))
    figure = lines(
        table.append_column("high", pc.add(norms["mean"], norms["std"])), "layer", "mean", low="low", high="high",
        colour="quantity", series=quantities, panel="token_class", names=_classes(norms, "{}, {} tokens"),
        title=f"{title} (bands: standard deviation)", model=model, x_label="layer", y_label="mean Euclidean norm",
    )  # fmt: skip
    from_zero(figure.axes[0])
    return figure


def _classes(table: pa.Table, text: str) -> Names:
    """Return what a figure calls the classes of tokens, with their counts."""
    counts = dict(zip(table["token_class"].to_pylist(), table["n"].to_pylist(), strict=True))
    return {name: text.format(title, f"{counts[name]:,}") for name, title in CLASS_TITLES.items() if name in counts}


def _binned(rows: pa.Table, stage: str, layer: int) -> pa.Table:
    """Group neighbouring lengths into at most 12 groups of similar size; return their means and standard deviations."""
    length, n, mean, std = (rows[name].to_numpy().astype(np.float64) for name in ("length", "n", "mean", "std"))
    group = ((np.cumsum(n) - n / 2) / n.sum() * _LENGTH_BINS).astype(int)
    weight = np.bincount(group, n)
    sums = (np.bincount(group, n * values)[weight > 0] for values in (length, mean, std**2 + mean**2))
    middle, value, square = (total / weight[weight > 0] for total in sums)
    spread = np.sqrt(np.maximum(square - value**2, 0))
    columns = {"length": middle, "mean": value, "_low": np.maximum(value - spread, value / 10), "_high": value + spread}
    keys = {"stage": pa.repeat(stage, len(value)), "layer": pa.repeat(layer, len(value))}
    return pa.table({**keys, **columns})
