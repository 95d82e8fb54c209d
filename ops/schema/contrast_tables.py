"""The tables of the side job contrast: which units separate two groups of sentences."""

from ops.schema.columns import LAYER, NEURON, interval, quantiles, tables

GROUP = "group string: the contrast: `KEY=VALUE` against the rest, what `--a` says, or the name of its texts"
_OVER = "auc minus that of {}, paired; null on rows of other bases than `units`"

TABLES = tables(f"""
table contrast/units by group, layer, unit: a unit and a contrast
    {GROUP}
    {NEURON}
    n_a int64: sentences of group a
    n_b int64: sentences of group b
    documents_a int64: documents of group a
    documents_b int64: documents of group b
    mean_a float32: mean activation in group a
    mean_b float32: mean activation in group b
    difference float32: `mean_a` minus `mean_b`, in the unit's standard deviations over the corpus
    auc float64?: how often a sentence of a has a higher activation than one of b
    {interval("auc", ", by document")}
    matched_auc float64?: the same for sentences matched in length and, unless the groups have no data set in common, \
        data set
    {interval("matched_auc", ", by document")}
    q_value float64?: false discovery rate over all units of a `matched_auc` of 0.5; for features, of equal shares
    p_family float64?: share of permuted labels with a unit that separates them as well
    rank int32: rank by how far the nearer end of the interval of `matched_auc` is from 0.5, from 1; for features, by \
        `g2` divided by its design effect
    active_a float32?: for features: share of a's sentences in which it is active
    active_b float32?: for features: share of b's sentences in which it is active
    lift float32?: for features: `active_a` divided by `active_b`, smoothed
    g2 float32?: for features: log-likelihood ratio, negative if `active_a` is the smaller

table contrast/probes by group, basis, layer, k: a probe: a contrast, a basis, a layer and a number of units
    {GROUP}
    basis string: `units`: the best units; `rotated`: the best axes of ten random rotations; `layer`: all units; \
        `words`: words, length and data set; `random`: the best units with random weights
    layer int16?: layer; null for `words`, and for the layer chosen on training documents
    k int16?: units; null for `words` and `layer`, which has it with the layer chosen for k units
    auc float64?: how often a held-out sentence of a has a higher score than one of b; `rotated`: median
    {interval("auc", "; `rotated`: range of the ten rotations")}
    over_rotated float64?: {_OVER.format("as many rotated axes (mean of ten)")}
    {interval("over_rotated")}
    over_layer float64?: {_OVER.format("the complete layer")}
    {interval("over_layer")}
    over_words float64?: {_OVER.format("words")}
    {interval("over_words")}
    over_random float64?: {_OVER.format("as many units with random weights")}
    {interval("over_random")}

table contrast/controls by group, layer, control, measure: a measure of a layer's units, or of a control
    {GROUP}
    {LAYER}
    control string: `units`: no control; `rotated`: axes of a random rotation; `permuted`: units with permuted labels
    measure string: `auc`, `matched_auc`, or `significant`: a `q_value` below 0.05
    n int64: units or axes
    mean float64?: mean of the measure; for `significant`, the share
    {quantiles("float64?")}
""")
