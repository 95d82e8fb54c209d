"""The figure of `outputs/controls`: how peaked units' outputs are by layer, next to random directions."""

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.figures.lines import quantiles
from ops.outputs.names import RANDOM, UNITS

_MEASURES = {
    "kurtosis": "excess kurtosis of the logit changes",
    "extreme": "largest change of a logit (standard deviations from the mean)",
}


def peaked_figures(controls: pa.Table) -> dict[str, Figure]:
    """Return the figure of the quantiles of both measures, or none if no unit writes anything."""
    rows = controls.filter(pc.greater(controls["n"], 0))
    if not rows.num_rows:
        return {}
    figure = quantiles(
        rows, "layer", "basis", bases={UNITS: "units", RANDOM: "random directions"}, panel="measure", names=_MEASURES,
        title="How peaked the outputs of units are: median, quartiles, 5 % and 95 %", y_label="",
    )  # fmt: skip
    return {"peaked": figure}
