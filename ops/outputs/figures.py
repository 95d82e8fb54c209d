"""The figure of `outputs/controls`: how peaked units' outputs are by layer, next to random directions."""

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ops.figures import BLUE, PAGE, VERMILLION, for_print, save_figures, titled
from ops.outputs.names import RANDOM, UNITS
from ops.storage.store import Store

FOLDER = "outputs/figures"
_APART = 0.2  # horizontal distance between the two bases of a layer
_LOOKS = {UNITS: (BLUE, "o", "units"), RANDOM: (VERMILLION, "s", "random directions")}
_AXES = {
    "kurtosis": "excess kurtosis of the logit changes",
    "extreme": "largest change of a logit\n(standard deviations from the mean)",
}


def draw_controls(store: Store, controls: pa.Table, model: str = "") -> list[str]:
    """Draw the figure and return the file names; return none if no unit writes anything."""
    if not pc.sum(controls["n"]).as_py():
        return []
    return save_figures(store, FOLDER, {"peaked": lambda: peaked_figure(controls, model)})


@for_print
def peaked_figure(controls: pa.Table, model: str = "") -> Figure:
    """Draw the quantiles of both measures by layer, units next to random directions."""
    figure = Figure(figsize=(PAGE, 3.2), layout="constrained")
    for panel, (measure, label) in zip(figure.subplots(1, 2), _AXES.items(), strict=True):
        for side, (basis, (color, marker, name)) in zip((-1, 1), _LOOKS.items(), strict=True):
            here = pc.and_(pc.equal(controls["measure"], measure), pc.equal(controls["basis"], basis))
            own = controls.filter(pc.and_(here, pc.greater(controls["n"], 0)))
            x = own["layer"].to_numpy() + side * _APART / 2
            low, lower, middle, upper, high = (own[q].to_numpy() for q in ("q05", "q25", "q50", "q75", "q95"))
            panel.vlines(x, low, high, color=color, linewidth=0.8)
            panel.vlines(x, lower, upper, color=color, linewidth=3.0)
            panel.plot(x, middle, marker, color="white", markeredgecolor=color, markersize=4, label=name)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        panel.set_xlabel("layer")
        panel.set_ylabel(label)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.suptitle(titled("How peaked the outputs of units are: median, quartiles, 5 % and 95 %", model))
    return figure
