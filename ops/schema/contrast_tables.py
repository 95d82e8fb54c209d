"""The tables of the side job contrast: which units separate two groups of sentences."""

from ops.schema.columns import (
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    LAYER,
    NEURON,
    STRING,
    Column,
    TableSpec,
    measured,
    quantiles,
)

GROUP = Column("group", STRING, "the contrast: `KEY=VALUE` against the rest, what `--a` says, or the name of its texts")
_OVER = "auc minus that of {}, paired; null on rows of other bases than `units`"

TABLES: dict[str, TableSpec] = {
    "contrast/units": TableSpec(
        "a unit and a contrast",
        (
            GROUP,
            *NEURON,
            Column("n_a", INT64, "sentences of group a"),
            Column("n_b", INT64, "sentences of group b"),
            Column("documents_a", INT64, "documents of group a"),
            Column("documents_b", INT64, "documents of group b"),
            Column("mean_a", FLOAT32, "mean activation in group a"),
            Column("mean_b", FLOAT32, "mean activation in group b"),
            Column("difference", FLOAT32, "`mean_a` minus `mean_b`, in the unit's standard deviations over the corpus"),
            *measured("auc", "how often a sentence of a has a higher activation than one of b", ", by document"),
            *measured(
                "matched_auc",
                "the same for sentences matched in length and, unless the groups have no data set in common, data set",
                ", by document",
            ),
            Column(
                "q_value",
                FLOAT64,
                "false discovery rate over all units of a `matched_auc` of 0.5; for features, of equal shares",
                True,
            ),
            Column("p_family", FLOAT64, "share of permuted labels with a unit that separates them as well", True),
            Column(
                "rank",
                INT32,
                "rank by how far the nearer end of the interval of `matched_auc` is from 0.5, from 1; for features, by "
                "`g2` divided by its design effect",
            ),
            Column("active_a", FLOAT32, "for features: share of a's sentences in which it is active", True),
            Column("active_b", FLOAT32, "for features: share of b's sentences in which it is active", True),
            Column("lift", FLOAT32, "for features: `active_a` divided by `active_b`, smoothed", True),
            Column("g2", FLOAT32, "for features: log-likelihood ratio, negative if `active_a` is the smaller", True),
        ),
        ("group", "layer", "unit"),
    ),
    "contrast/probes": TableSpec(
        "a probe: a contrast, a basis, a layer and a number of units",
        (
            GROUP,
            Column(
                "basis",
                STRING,
                "`units`: the best units; `rotated`: the best axes of ten random rotations; `layer`: all units; "
                "`words`: words, length and data set; `random`: the best units with random weights",
            ),
            Column("layer", INT16, "layer; null for `words`, and for the layer chosen on training documents", True),
            Column(
                "k", INT16, "units; null for `words` and `layer`, which has it with the layer chosen for k units", True
            ),
            *measured(
                "auc",
                "how often a held-out sentence of a has a higher score than one of b; `rotated`: median",
                "; `rotated`: range of the ten rotations",
            ),
            *measured("over_rotated", _OVER.format("as many rotated axes (mean of ten)")),
            *measured("over_layer", _OVER.format("the complete layer")),
            *measured("over_words", _OVER.format("words")),
            *measured("over_random", _OVER.format("as many units with random weights")),
        ),
        ("group", "basis", "layer", "k"),
    ),
    "contrast/controls": TableSpec(
        "a measure of a layer's units, or of a control",
        (
            GROUP,
            LAYER,
            Column(
                "control",
                STRING,
                "`units`: no control; `rotated`: axes of a random rotation; `permuted`: units with permuted labels",
            ),
            Column("measure", STRING, "`auc`, `matched_auc`, or `significant`: a `q_value` below 0.05"),
            Column("n", INT64, "units or axes"),
            Column("mean", FLOAT64, "mean of the measure; for `significant`, the share", True),
            *quantiles(nullable=True),
        ),
        ("group", "layer", "control", "measure"),
    ),
}
