"""The figure of `outputs/controls`: how peaked units' outputs are by layer, next to random directions."""

import pyarrow as pa
import pyarrow.compute as pc

from ops.figures.files import save_figures
from ops.figures.lines import quantiles
from ops.outputs.names import RANDOM, UNITS
from ops.storage.store import Store

FOLDER = "outputs/figures"
_MEASURES = {
    "kurtosis": "excess kurtosis of the logit changes",
    "extreme": "largest change of a logit (standard deviations from the mean)",
}


def draw_controls(store: Store, controls: pa.Table, model: str = "") -> list[str]:
    """Draw the quantiles of both measures and return the file names; none if no unit writes anything."""
    rows = controls.filter(pc.greater(controls["n"], 0))
    if not rows.num_rows:
        return []
    figure = quantiles(
        rows, "layer", "basis", bases={UNITS: "units", RANDOM: "random directions"}, panel="measure", names=_MEASURES,
        title="How peaked the outputs of units are: median, quartiles, 5 % and 95 %", model=model,
        x_label="layer", y_label="",
    )  # fmt: skip
    return save_figures(store, FOLDER, {"peaked": figure})
