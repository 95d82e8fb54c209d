"""The figures of mixing, drawn from its tables alone (modelled on Kobayashi 2021)."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.figures.lines import Names, layer_names, lines, names_of, rows_where, with_deviation
from ops.figures.maps import heat_map
from ops.figures.panels import finish, panels

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
_ATTENTION = {"attn_mixing": "from other tokens (mixing)", "attn_preserving": "from the token itself (preserving)"}
_RESIDUAL = {"residual": "before LayerNorm", "residual_ln": "its part after LayerNorm"}
_LENGTH_BINS = 12


def mixing_figures(tables: Mapping[str, pa.Table]) -> dict[str, Figure]:
    """Return the figures of `mixing/ratios`, `mixing/lengths` and `mixing/norms`."""
    norms = tables["mixing/norms"]
    return {
        "ratios": _ratios(tables["mixing/ratios"]),
        "lengths": lengths_figure(tables["mixing/lengths"]),
        "norms_attention": _norms(norms, _ATTENTION, "What attention adds to a token's vector"),
        "norms_residual": _norms(norms, _RESIDUAL, "The residual stream that attention adds to"),
    }


def _ratios(ratios: pa.Table) -> Figure:
    """Draw the mean mixing ratio by layer and token class, with a heat map for each stage (as Figures 2 and 6)."""
    stages, classes = names_of(ratios, "stage", STAGE_TITLES), _classes(ratios, "{}, {}")
    layers = list(layer_names(ratios))
    title = "Mean mixing ratio by layer and token class, %"
    figure, grid = panels(list(stages.values()), title, height=0.9 + 0.15 * len(layers))
    highest = 100 * pc.max(ratios["mean"]).as_py()
    for axes, stage in zip(grid, stages, strict=True):
        rows = rows_where(ratios, "stage", stage)
        cells = np.full((len(layers), len(classes)), np.nan)
        cells[rows["layer"].to_numpy() - 1, pc.index_in(rows["token_class"], pa.array(list(classes)))] = rows["mean"]
        heat_map(axes, 100 * cells, 0, highest, digits=0, origin="lower", aspect="auto")
        axes.set_xticks(range(len(classes)), list(classes.values()), rotation=90)
        axes.set_yticks(range(len(layers)), [str(layer) for layer in layers])
    return finish(figure, "class of token, with count", "layer")


def lengths_figure(lengths: pa.Table) -> Figure:
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
    tokens = pc.sum(rows_where(rows_where(lengths, "stage", "attn"), "layer", min(layers))["n"]).as_py()
    return lines(
        with_deviation(binned, ends, least=pc.divide(binned["mean"], 10)), "length", "mean",
        colour="layer", series=layers, ordered=True, panel="stage", names=STAGE_TITLES, y_scale="log",
        title=f"Mixing ratio by length, {tokens:,} tokens in at most {_LENGTH_BINS} groups of similar size "
        "(bands: standard deviation, first and last layer)",
        x_label="tokens in the sequence", y_label="mean mixing ratio",
    )  # fmt: skip


def _norms(norms: pa.Table, quantities: Names, title: str) -> Figure:
    """Draw norms by layer, with a panel for each class of tokens and a line for each quantity (as Figures 3 to 7)."""
    return lines(
        with_deviation(norms, least=0), "layer", "mean", colour="quantity", series=quantities, panel="token_class",
        names=_classes(norms, "{}, {} tokens"), y_scale="zero", title=f"{title} (bands: standard deviation)",
        y_label="mean Euclidean norm",
    )  # fmt: skip


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
    columns = {"length": middle, "mean": value, "std": np.sqrt(np.maximum(square - value**2, 0))}
    return pa.table({"stage": pa.repeat(stage, len(value)), "layer": pa.repeat(layer, len(value)), **columns})
