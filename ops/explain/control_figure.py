"""The figure of `explain/controls`: how well language explains neurons, random axes and shuffled sentences."""

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ops.explain.control_rows import BASES, R2_BEYOND
from ops.figures import COLOURS, PAGE, for_print, save_figures, titled
from ops.storage.store import Store

FOLDER = "explain/figures"
_APART = 0.25  # horizontal distance between two bases of a layer
_NAMES = {"neurons": "neurons", "rotated": "axes of a random rotation", "shuffled": "neurons, sentences shuffled"}


def draw_controls(store: Store, controls: pa.Table, model: str = "") -> list[str]:
    """Draw the figure and return the file names; return none if no range model has a score."""
    if not len(_shown(controls)):
        return []
    return save_figures(store, FOLDER, {"controls": lambda: control_figure(controls, model)})


@for_print
def control_figure(controls: pa.Table, model: str = "") -> Figure:
    """Draw the quantiles of the R2 beyond nuisance by layer, with a colour for each basis."""
    rows = _shown(controls)
    figure = Figure(figsize=(PAGE, 3.2), layout="constrained")
    panel = figure.subplots()
    there = [basis for basis in BASES if basis in rows["basis"].to_pylist()]
    for number, basis in enumerate(there):
        own = rows.filter(pc.equal(rows["basis"], basis)).sort_by("layer")
        quantiles = {q: own[q].to_numpy() for q in ("q05", "q25", "q50", "q75", "q95")}
        x = own["layer"].to_numpy() + _APART * (number - (len(there) - 1) / 2)
        color = COLOURS[BASES.index(basis)]
        panel.vlines(x, quantiles["q05"], quantiles["q95"], color=color, linewidth=0.8)
        panel.vlines(x, quantiles["q25"], quantiles["q75"], color=color, linewidth=3.5)
        panel.plot(x, quantiles["q50"], "o", color="white", markeredgecolor=color, markersize=4, label=_NAMES[basis])
    panel.axhline(0, color="0.7", linewidth=0.6, zorder=0)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    panel.set_xlabel("layer")
    panel.set_ylabel("share of the variance explained\nbeyond length and source (R2)")
    panel.set_title("Median, quartiles, 5 % and 95 % over a layer's units; held-out documents")
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle(titled("How well language explains activations", model))
    return figure


def _shown(controls: pa.Table) -> pa.Table:
    range_model = pc.and_(pc.equal(controls["model"], "range"), pc.equal(controls["measure"], R2_BEYOND))
    return controls.filter(range_model)
