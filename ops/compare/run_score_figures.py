"""The figures of `compare/runs`: scores in a run and in its control, and the share above the control's quantile."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ops.arrays import Float64s
from ops.compare.property_names import measure_in_words
from ops.compare.run_scores import BY_CHANCE, Values
from ops.figures import BLUE, GREY, NULLS, OWN, VERMILLION, for_print, label_outer, panels, save_figures
from ops.storage.store import Store

FOLDER = "compare/figures/runs"
# The measures that are drawn, if both runs have them.
SHOWN = (
    ("explanations", "f1"),
    ("explanations", "r2_beyond"),
    ("scores", "auc_excess"),
    ("explanations", "average_precision"),
    ("audit/neurons", "transfer"),
    ("audit/neurons", "illusion"),
)
MOST_TICKS = 8  # maximum number of layers with a number
_QUANTILES = (5, 25, 50, 75, 95)
Pairs = Mapping[tuple[str, str], tuple[Values, Values]]


def draw_runs(store: Store, rows: pa.Table, pairs: Pairs, model: str, control: str) -> list[str]:
    """Draw both figures and return the file names.

    Args:
        store: the run's folder.
        rows: the rows of `compare/runs`.
        pairs: the values in the run and in its control, by table and measure; those of `SHOWN`, at least one.
        model, control: the names of the runs.
    """
    drawings = {
        "distributions": lambda: distributions_figure(pairs, model, control),
        "shares": lambda: shares_figure(rows, model, control),
    }
    return save_figures(store, FOLDER, drawings)


@for_print
def distributions_figure(pairs: Pairs, model: str, control: str) -> Figure:
    """Draw the distributions by layer side by side, a panel for each measure: 5, 25, 50, 75 and 95 % quantiles."""
    shown = [key for key in SHOWN if key in pairs]
    figure, all_axes = panels(len(shown), f"{model} and its control, {control}:\nscores by layer", own_scales=True)
    for axes, key in zip(all_axes, shown, strict=True):
        layers = sorted(set(np.concatenate([values.layer for values in pairs[key]]).tolist()))
        for values, colour, aside in zip(pairs[key], (BLUE, VERMILLION), (-0.2, 0.2), strict=True):
            there = [layer for layer in layers if (values.layer == layer).any()]
            boxes = [_box(values.of_layer(layer).value) for layer in there]
            axes.bxp(
                boxes, positions=[layer + aside for layer in there], widths=0.32, capwidths=0.0, showfliers=False,
                patch_artist=True, boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.35},
                medianprops={"color": colour}, whiskerprops={"color": colour, "linewidth": 0.7}, manage_ticks=False,
            )  # fmt: skip
        axes.set_title(measure_in_words(*key))
        _layer_ticks(axes, layers)
    label_outer(all_axes, "layer", "")
    looks = [Patch(facecolor=colour, alpha=0.5) for colour in (BLUE, VERMILLION)]
    names = [model, f"control: {control}"]
    figure.legend(looks, names, loc="outside lower center", ncols=1 if sum(map(len, names)) > 70 else 2)
    return figure


@for_print
def shares_figure(rows: pa.Table, model: str, control: str) -> Figure:
    """Draw the share above the control's 95 % quantile by layer with its interval, a panel for each measure."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows.to_pylist():
        if row["layer"] is not None and row["share_above"] is not None:
            found.setdefault((row["table"], row["measure"]), []).append(row)
    shown = [key for key in SHOWN if key in found]
    title = f"{model}: share above the 95 % quantile of its control, {control}\n(with 95 % intervals)"
    figure, all_axes = panels(len(shown), title, own_scales=True)
    for axes, key in zip(all_axes, shown, strict=True):
        layers = [row["layer"] for row in found[key]]
        share, low, high = (
            np.array([row[name] for row in found[key]]) for name in ("share_above", "share_low", "share_high")
        )
        ends = np.maximum([share - low, high - share], 0)
        axes.errorbar(layers, share, ends, label=model, capsize=2, elinewidth=0.8, **OWN)
        axes.axhline(BY_CHANCE, color=NULLS[0]["color"], linestyle="--", label="5 %: no different from the control")
        axes.set_title(measure_in_words(*key))
        axes.set_ylim(bottom=0)
        _layer_ticks(axes, layers)
    label_outer(all_axes, "layer", "share of neurons and poles")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _layer_ticks(axes: Axes, layers: list[int]) -> None:
    axes.set_xticks(layers[:: -(-len(layers) // MOST_TICKS)])
    axes.set_xlim(layers[0] - 0.6, layers[-1] + 0.6)
    axes.axhline(0, color=GREY, linewidth=0.4)


def _box(values: Float64s) -> dict[str, object]:
    low, first, middle, third, high = np.percentile(values, _QUANTILES)
    return {"whislo": low, "q1": first, "med": middle, "q3": third, "whishi": high, "fliers": []}
