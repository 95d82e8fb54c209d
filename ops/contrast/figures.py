"""The figures of a contrast: areas by layer next to both controls, and probes by the number of units."""

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.contrast.probes import KS
from ops.figures.lines import lines, quantiles

MOST_GROUPS = 6  # maximum number of contrasts that are drawn
_CONTROLS = {"units": "units", "rotated": "rotated axes", "permuted": "permuted labels"}
_BASES = {
    "units": "units", "rotated": "rotated axes (range of ten)", "words": "words", "layer": "complete layer",
    "random": "random weights",
}  # fmt: skip


def contrast_figures(controls: pa.Table, probes: pa.Table) -> dict[str, Figure]:
    """Return the figures by name; the probes are drawn in the layer that was chosen on the training documents."""
    groups = {group: group for group in pc.unique(controls["group"]).to_pylist()[:MOST_GROUPS]}
    matched = controls.filter(pc.equal(controls["measure"], "matched_auc"))
    figures = {
        "areas": quantiles(
            matched, "layer", "control", bases=_CONTROLS, panel="group", names=groups, levels={0.5: ""},
            title="How well units separate the groups: median, quartiles, 5 % and 95 %", y_label="matched AUC",
        )
    }  # fmt: skip
    rows = probes.filter(pc.is_null(probes["layer"]))
    rows = rows.filter(pc.is_valid(rows["auc"]))
    if rows.num_rows:
        figures["probes"] = lines(
            _for_every_k(rows), "k", "auc", low="auc_low", high="auc_high", colour="basis", series=_BASES,
            panel="group", names=groups, factors=True, levels={0.5: ""}, y_label="held-out AUC", x_label="units",
            title="How well the k best units of a layer tell the groups apart",
        )  # fmt: skip
    return figures


def _for_every_k(rows: pa.Table) -> pa.Table:
    """Return rows with those of words, which have no k, repeated for each of the numbers of units."""
    known, words = (rows.filter(own) for own in (pc.is_valid(rows["k"]), pc.is_null(rows["k"])))
    place = words.schema.get_field_index("k")
    repeated = [words.set_column(place, words.schema.field("k"), pa.repeat(pa.scalar(k, pa.int16()), len(words)))
                for k in KS]  # fmt: skip
    return pa.concat_tables([known, *repeated])
