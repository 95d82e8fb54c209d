"""The figure of `explain/controls`: how well language explains neurons, random axes and shuffled sentences."""

import pyarrow as pa
import pyarrow.compute as pc

from ops.explain.control_rows import R2_BEYOND
from ops.figures.files import save_figures
from ops.figures.lines import quantiles
from ops.figures.style import LEVEL
from ops.storage.store import Store

FOLDER = "explain/figures"
_BASES = {"neurons": "neurons", "rotated": "axes of a random rotation", "shuffled": "neurons, sentences shuffled"}


def draw_controls(store: Store, controls: pa.Table, model: str = "") -> list[str]:
    """Draw the quantiles of the R2 beyond nuisance and return the file names; none if no range model has a score."""
    rows = controls.filter(pc.and_(pc.equal(controls["model"], "range"), pc.equal(controls["measure"], R2_BEYOND)))
    if not rows.num_rows:
        return []
    figure = quantiles(
        rows, "layer", "basis", bases=_BASES, model=model, x_label="layer",
        y_label="share of the variance explained beyond length and source (R2)",
        title="How well language explains activations: median, quartiles, 5 % and 95 % over units; held-out documents",
    )  # fmt: skip
    figure.axes[0].axhline(0, **LEVEL)
    return save_figures(store, FOLDER, {"controls": figure})
