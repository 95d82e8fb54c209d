"""The figure of `explain/controls`: how well language explains neurons, random axes and shuffled sentences."""

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.explain.controls import R2_BEYOND
from ops.figures.lines import quantiles

_BASES = {"neurons": "neurons", "rotated": "axes of a random rotation", "shuffled": "neurons, sentences shuffled"}


def control_figures(controls: pa.Table) -> dict[str, Figure]:
    """Return the figure of the quantiles of the R2 beyond nuisance, or none if no activation model has a score."""
    rows = controls.filter(pc.and_(pc.equal(controls["model"], "activation"), pc.equal(controls["measure"], R2_BEYOND)))
    if not rows.num_rows:
        return {}
    figure = quantiles(
        rows, "layer", "basis", bases=_BASES, levels={0: ""},
        y_label="share of the variance explained beyond length and source (R2)",
        title="How well language explains activations: median, quartiles, 5 % and 95 % over units; held-out documents",
    )  # fmt: skip
    return {"controls": figure}
