"""The figures of `compare/runs`: scores in a run and in its control, and the share above the control's quantile."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ops.compare.property_names import measure_in_words
from ops.compare.run_scores import BY_CHANCE, Values
from ops.figures.files import save_figures
from ops.figures.lines import lines, quantiles, quantiles_of, with_panels
from ops.figures.panels import from_zero
from ops.figures.style import LEVEL
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
_NAMES = {f"{table}:{measure}": measure_in_words(table, measure) for table, measure in SHOWN}
Pairs = Mapping[tuple[str, str], tuple[Values, Values]]


def draw_runs(store: Store, rows: pa.Table, pairs: Pairs, model: str, control: str) -> list[str]:
    """Draw both figures and return the file names.

    Args:
        store: the run's folder.
        rows: the rows of `compare/runs`.
        pairs: the values in the run and in its control, by table and measure; those of `SHOWN`, at least one.
        model, control: the names of the runs.
    """
    scores = pa.concat_tables(
        pa.table({"layer": own.layer, "value": own.value})
        .append_column("basis", pa.repeat(basis, len(own.value)))
        .append_column("panel", pa.repeat(":".join(key), len(own.value)))
        for key, pair in pairs.items()
        for basis, own in zip(("run", "control"), pair, strict=True)
    )
    distributions = quantiles(
        quantiles_of(scores, ["panel", "basis", "layer"], "value"), "layer", "basis", panel="panel", names=_NAMES,
        bases={"run": model, "control": f"control: {control}"}, x_label="layer", y_label="",
        title=f"Scores of {model} and its control, {control}: median, quartiles, 5 % and 95 %",
    )  # fmt: skip
    by_layer = rows.filter(pc.and_(pc.is_valid(rows["layer"]), pc.is_valid(rows["share_above"])))
    shares = lines(
        with_panels(by_layer, "table", "measure"), "layer", "share_above", low="share_low", high="share_high",
        series={None: model}, panel="panel", names=_NAMES, x_label="layer", y_label="share of neurons and poles",
        title=f"{model}: share above the 95 % quantile of its control, {control} (bands: 95 %)",
    )  # fmt: skip
    for axes in shares.axes:
        axes.axhline(BY_CHANCE, **{**LEVEL, "linestyle": "--"}, label="5 %: no different from the control")
        from_zero(axes)
    return save_figures(store, FOLDER, {"distributions": distributions, "shares": shares})
