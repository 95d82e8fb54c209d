"""The tables of the side job outputs."""

from ops.schema.columns import FLOAT32, FLOAT64, INT32, INT64, LAYER, NEURON, STRING, Column, TableSpec, quantiles

TABLES: dict[str, TableSpec] = {
    "outputs/tokens": TableSpec(
        "a token whose logit a unit changes most",
        (
            *NEURON,
            Column("side", STRING, "`promoted`: the logit rises most; `suppressed`: it falls most"),
            Column("rank", INT32, "rank within the side, counted from 1"),
            Column("token_id", INT32, "token's number in the vocabulary"),
            Column("token", STRING, "token as written in the vocabulary"),
            Column("logit", FLOAT32, "change of its logit when the activation rises by one standard deviation"),
        ),
        ("layer", "unit", "side", "rank"),
    ),
    "outputs/neurons": TableSpec(
        "a unit",
        (
            *NEURON,
            Column("mean", FLOAT64, "mean change of the logits over the vocabulary"),
            Column("std", FLOAT64, "standard deviation (ddof 0) of these changes"),
            Column("skew", FLOAT64, "their skewness; null if all are equal", True),
            Column(
                "kurtosis", FLOAT64, "their excess kurtosis (0 for a normal distribution); null if all are equal", True
            ),
            Column("extreme", FLOAT64, "the largest distance from the mean, in standard deviations", True),
            Column("kurtosis_p", FLOAT64, "share of the layer's random directions with at least this `kurtosis`", True),
            Column("extreme_p", FLOAT64, "share of these with at least this `extreme`", True),
            Column("norm", FLOAT32, "Euclidean norm of what the unit writes for an activation of 1"),
            Column("cosine", FLOAT32, "cosine of what the unit writes with its input weights; null if unknown", True),
        ),
        ("layer", "unit"),
    ),
    "outputs/controls": TableSpec(
        "a measure of a layer's units, or of random directions",
        (
            LAYER,
            Column("basis", STRING, "`units`, or `random`: sums of what the units write with random normal weights"),
            Column("measure", STRING, "`kurtosis` or `extreme`, as in `outputs/neurons/`"),
            Column("n", INT64, "units or directions"),
            Column("mean", FLOAT64, "mean of the measure; null if there are no values", True),
            *quantiles(nullable=True),
            Column("beyond", FLOAT64, "share of these above the `q95` of the random directions", True),
        ),
        ("layer", "basis", "measure"),
    ),
    "outputs/checks": TableSpec(
        "a unit whose activation was raised by one standard deviation in real sentences",
        (
            *NEURON,
            Column("n", INT64, "positions over which the change of a logit is averaged"),
            Column("correlation", FLOAT32, "Pearson's correlation of that change with the direct effect", True),
            Column(
                "slope", FLOAT32, "slope of that change against the direct effect; 1 if both are equally large", True
            ),
            Column("unit_b", INT32, "another unit of the layer, drawn at random; null if there is none", True),
            Column("shuffled", FLOAT32, "correlation of the change with the direct effect of `unit_b`", True),
        ),
        ("layer", "unit"),
    ),
}
