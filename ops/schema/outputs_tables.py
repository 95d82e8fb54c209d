"""The tables of the side job outputs."""

from ops.schema.columns import LAYER, NEURON, quantiles, tables

TABLES = tables(f"""
table outputs/tokens by layer, unit, side, rank: a token whose logit a unit changes most
    {NEURON}
    side string: `promoted`: the logit rises most; `suppressed`: it falls most
    rank int32: rank within the side, counted from 1
    token_id int32: token's number in the vocabulary
    token string: token as written in the vocabulary
    logit float32: change of its logit when the activation rises by one standard deviation

table outputs/neurons by layer, unit: a unit
    {NEURON}
    mean float64: mean change of the logits over the vocabulary
    std float64: standard deviation (ddof 0) of these changes
    skew float64?: their skewness; null if all are equal
    kurtosis float64?: their excess kurtosis (0 for a normal distribution); null if all are equal
    extreme float64?: the largest distance from the mean, in standard deviations
    kurtosis_p float64?: share of the layer's random directions with at least this `kurtosis`
    extreme_p float64?: share of these with at least this `extreme`
    norm float32: Euclidean norm of what the unit writes for an activation of 1
    cosine float32?: cosine of what the unit writes with its input weights; null if unknown

table outputs/controls by layer, basis, measure: a measure of a layer's units, or of random directions
    {LAYER}
    basis string: `units`, or `random`: sums of what the units write with random normal weights
    measure string: `kurtosis` or `extreme`, as in `outputs/neurons/`
    n int64: units or directions
    mean float64?: mean of the measure; null if there are no values
    {quantiles("float64?")}
    beyond float64?: share of these above the `q95` of the random directions

table outputs/checks by layer, unit: a unit whose activation was raised by one standard deviation in real sentences
    {NEURON}
    n int64: positions over which the change of a logit is averaged
    correlation float32?: Pearson's correlation of that change with the direct effect
    slope float32?: slope of that change against the direct effect; 1 if both are equally large
    unit_b int32?: another unit of the layer, drawn at random; null if there is none
    shuffled float32?: correlation of the change with the direct effect of `unit_b`
""")
