"""The tables of the job compare."""

from ops.schema.columns import FLOAT32, FLOAT64, INT16, INT32, INT64, LAYER, NEURON, STRING, Column, TableSpec, interval

_PAIR = (
    Column("property", STRING, "table and property, with the pole if it has one: `means:words_per_sentence:top`"),
    Column("layer_a", INT16, "a layer, counted from 1"),
    Column("layer_b", INT16, "a later layer"),
)
_GROUPED = (
    Column("group", INT32, "its k-means group, counted from 0; groups are ordered by their first members"),
    Column("x", FLOAT32, "first coordinate on the t-SNE map"),
    Column("y", FLOAT32, "second coordinate on the t-SNE map"),
)
_LAYER_OR_ALL = Column("layer", INT16, "layer, counted from 1; 0: all layers together")
_REACH = Column("reach", STRING, "`within`: neurons of the same layer; `across`: neurons of other layers")
_DISTANCES = (
    Column("n", INT64, "sentences"),
    Column("manhattan", FLOAT32, "mean Manhattan distance between the two models' vectors of a sentence"),
    Column("euclidean", FLOAT32, "mean Euclidean distance between the two models' vectors of a sentence"),
)
_INTERVALS = tuple(
    end
    for distance in ("manhattan", "euclidean")
    for end in interval(distance, ", by document; null if all sentences are from one", FLOAT32)
)

_Q = "false discovery rate over all properties and pairs of layers in the table (Benjamini and Hochberg)"
_MOVED = "how far other neurons of later layers move on average, in their standard deviations; null in the last layer"

TABLES: dict[str, TableSpec] = {
    "compare/dimensions": TableSpec(
        "a scalar property and a pair of layers",
        (
            *_PAIR,
            Column("correlation", FLOAT32, "Pearson correlation of the property across units of the same number"),
            Column("null_low", FLOAT32, "2.5 % quantile of the correlation with the units of `layer_b` permuted"),
            Column("null_high", FLOAT32, "97.5 % quantile of the same correlation"),
            Column("p_value", FLOAT32, "share of permutations with a correlation at least as far from 0, two-sided"),
            Column("q_value", FLOAT64, _Q),
        ),
        ("property", "layer_a", "layer_b"),
    ),
    "compare/rotated": TableSpec(
        "a scalar property on the activation sample and a pair of layers, compared with rotated bases",
        (
            *_PAIR,
            Column(
                "correlation",
                FLOAT32,
                "correlation across units of the same number, with the property computed on the sample",
            ),
            Column(
                "rotated_mean", FLOAT32, "mean correlation over bases in which all layers are rotated in the same way"
            ),
            Column("rotated_low", FLOAT32, "lowest correlation in these bases"),
            Column("rotated_high", FLOAT32, "highest correlation in these bases"),
            Column("rotations", INT32, "number of rotated bases"),
            Column("p_value", FLOAT32, "share of the bases, including the model's own, that agree at least as much"),
            Column("q_value", FLOAT64, _Q),
        ),
        ("property", "layer_a", "layer_b"),
    ),
    "compare/runs": TableSpec(
        "a measure and a layer: how the measure is distributed in this run and in a control",
        (
            Column("table", STRING, "table that both runs have: `scores`, `explanations`, `audit/neurons`"),
            Column(
                "measure", STRING, "column of that table, a difference of two columns, or `verdict` and a value of it"
            ),
            Column("layer", INT16, "layer that both runs have; null: all such layers together", True),
            Column("n", INT64, "neurons and poles of this run with the measure; for R2 and eta squared, neurons"),
            Column("mean", FLOAT64, "their mean; for a verdict, the share that has it"),
            Column("median", FLOAT64, "their median; null for verdicts", True),
            Column("control_n", INT64, "neurons and poles of the control with the measure"),
            Column("control_mean", FLOAT64, "mean in the control"),
            Column("control_median", FLOAT64, "median in the control; null for verdicts", True),
            Column("control_q95", FLOAT64, "95 % quantile in the control; null for verdicts", True),
            Column(
                "share_above",
                FLOAT64,
                "share of this run's values above `control_q95`; 0.05 if both runs score the same",
                True,
            ),
            *interval("share", ", from a bootstrap over neurons"),
        ),
        ("table", "measure", "layer"),
    ),
    "compare/matches": TableSpec(
        "a unit and its best match in another run",
        (
            *NEURON,
            Column("layer_b", INT16, "layer of the match in the other run; null for silent and constant units", True),
            Column("unit_b", INT32, "unit of the match in the other run", True),
            Column(
                "correlation", FLOAT32, "Pearson correlation with the match, the furthest from 0 of all units", True
            ),
            Column(
                "rotated",
                FLOAT32,
                "highest absolute correlation with an axis of a rotated layer; null for features",
                True,
            ),
            Column("excess", FLOAT32, "absolute correlation - `rotated`", True),
            Column(
                "overlap",
                FLOAT32,
                "share of the unit's winners that its match has; opposite poles if the correlation is negative",
                True,
            ),
        ),
        ("layer", "unit"),
        8_192,
    ),
    "compare/universal": TableSpec(
        "a layer and a threshold: the share of units that have a match in the other run",
        (
            Column("layer", INT16, "layer; null: all layers together", True),
            Column("threshold", FLOAT64, "lower limit: 0, 0.1, up to 0.9"),
            Column("n", INT64, "units that have a match"),
            Column("share", FLOAT32, "share of these whose `excess` is above the threshold; null for features", True),
            Column("correlated", FLOAT32, "share of these whose absolute correlation is above it", True),
            Column("rotated", FLOAT32, "share of these whose `rotated` is above it; null for features", True),
        ),
        ("layer", "threshold"),
    ),
    "compare/diversity": TableSpec(
        "a layer and a number of clusters",
        (
            LAYER,
            Column("clusters", INT32, "number of k-means clusters"),
            Column("sse", FLOAT32, "sum of the squared distances of the winners' vectors to their centroids"),
            Column("n", INT64, "winners that were clustered; a sentence counts each time it wins"),
            Column("n_distinct", INT64, "distinct sentences among them"),
            Column("seed", INT64, "seed of the draws and of k-means"),
            Column("sse_per_point", FLOAT32, "`sse` divided by `n`"),
            Column("sse_of_uniform", FLOAT32, "`sse` of as many uniformly drawn sentences with the same repetitions"),
        ),
        ("layer", "clusters"),
    ),
    "compare/groups": TableSpec("a neuron, grouped with those of its layer", (*NEURON, *_GROUPED), ("layer", "unit")),
    "compare/joint_groups": TableSpec(
        "a neuron, grouped with those of all layers; each neuron is standardised",
        (*NEURON, *_GROUPED),
        ("layer", "unit"),
    ),
    "compare/sentence_groups": TableSpec(
        "a sentence of the activation sample, grouped by the activations of a layer's neurons",
        (LAYER, Column("sent_id", INT64, "sentence"), *_GROUPED),
        ("layer", "sent_id"),
    ),
    "compare/group_quality": TableSpec(
        "a layer and a number of groups: how distinct and how stable the groups are",
        (
            _LAYER_OR_ALL,
            Column("grouped", STRING, "`neurons` or `sentences`"),
            Column("groups", INT32, "number of k-means groups"),
            Column("n", INT64, "neurons or sentences that are grouped"),
            Column(
                "silhouette",
                FLOAT32,
                "mean silhouette (1: distinct groups, 0: none); null if all points are in one group",
                True,
            ),
            Column(
                "silhouette_of_shuffled", FLOAT32, "the same with each neuron's values shuffled over sentences", True
            ),
            Column(
                "rand_index", FLOAT64, "mean adjusted Rand index over pairs of seeds (1: equal groups, 0: as by chance)"
            ),
            Column("rand_index_of_shuffled", FLOAT64, "the same with each neuron's values shuffled over sentences"),
        ),
        ("layer", "grouped", "groups"),
    ),
    "compare/group_traits": TableSpec(
        "a pattern or value that sets a group of neurons apart: many of its neurons prefer it",
        (
            _LAYER_OR_ALL,
            Column("group", INT32, "group in `compare/groups`, or in `compare/joint_groups` if the layer is 0"),
            Column("pole", STRING, "`top`: the highest activations; `bottom`: the lowest"),
            Column("kind", STRING, "`word`, `tag`, `subtree`, or the name of a property"),
            Column("trait", STRING, "the pattern or value"),
            Column("count", INT64, "neurons of the group that prefer it (q < 0.05, and among their first findings)"),
            Column("n", INT64, "neurons of the group"),
            Column("share", FLOAT32, "`count` divided by `n`"),
            Column("other_share", FLOAT32, "share among the neurons outside the group"),
            Column("g2", FLOAT32, "log-likelihood ratio of the two shares"),
            Column("q_value", FLOAT64, "false discovery rate over all groups and traits of the layer"),
            Column("rank", INT32, "rank by g2 within the group, counted from 1"),
        ),
        ("layer", "group", "rank"),
    ),
    "compare/neighbours": TableSpec(
        "a neuron and one of the neurons nearest to it",
        (
            *NEURON,
            Column("rank", INT32, "rank by correlation, counted from 1"),
            Column("layer_b", INT16, "layer of the other neuron"),
            Column("unit_b", INT32, "unit of the other neuron"),
            Column(
                "correlation",
                FLOAT32,
                "Pearson correlation over the activation sample; null if either neuron is constant",
                True,
            ),
            Column("overlap", FLOAT32, "share of the neuron's winners that are also the other's, pole by pole"),
        ),
        ("layer", "unit", "rank"),
    ),
    "compare/nearest": TableSpec(
        "a layer and a reach: how similar the nearest neuron is, compared with chance and rotated bases",
        (
            LAYER,
            _REACH,
            Column("n", INT64, "number of neurons drawn, over which the means are taken"),
            Column("correlation", FLOAT32, "mean of each neuron's highest correlation"),
            Column(
                "correlation_of_rotated",
                FLOAT32,
                "the same with all layers rotated in the same way; null for dictionaries",
                True,
            ),
            Column("correlation_of_shuffled", FLOAT32, "the same with the neuron's own values shuffled over sentences"),
            Column("overlap", FLOAT32, "mean of each neuron's largest overlap of winners"),
            Column(
                "overlap_of_shuffled", FLOAT32, "the same with the neuron's own winners replaced by random sentences"
            ),
        ),
        ("layer", "reach"),
    ),
    "compare/ablation": TableSpec(
        "a property and one of the neurons with the highest values of it; the neuron is set to its mean",
        (
            Column("property", STRING, "table and property, with the pole if it has one, as in `compare/dimensions`"),
            Column("rank", INT32, "rank by the property, highest first, counted from 1"),
            *NEURON,
            Column("n", INT64, "number of sentences read"),
            Column("std", FLOAT32, "the neuron's standard deviation over the corpus"),
            Column("moved", FLOAT32, _MOVED, True),
            Column("n_random", INT32, "number of random neurons of its layer with a similar standard deviation"),
            Column("random_std", FLOAT32, "mean standard deviation of these", True),
            Column("random", FLOAT32, "mean of `moved` over the random neurons", True),
            Column("random_high", FLOAT64, "highest `moved` of the random neurons", True),
            Column("p_value", FLOAT32, "share of these, including the neuron, that move others at least as much", True),
            Column(
                "own_layer", INT16, "later layer whose unit of the same number moves most; null if there is none", True
            ),
            Column("own_moved", FLOAT32, "how far that unit moves, in its standard deviations", True),
            Column("layer_b", INT16, "layer of the other neuron that moves most; null in the last layer", True),
            Column("unit_b", INT32, "unit of the other neuron that moves most", True),
            Column("moved_b", FLOAT32, "how far it moves, in its standard deviations", True),
            Column("p_value_b", FLOAT32, "`p_value` computed from `moved_b` instead of `moved`", True),
            Column(
                "output",
                FLOAT32,
                "how far a classifier's probabilities move (total variation); null without a classifier",
                True,
            ),
            Column("output_random", FLOAT32, "mean of `output` over the random neurons", True),
        ),
        ("property", "rank"),
    ),
    "compare/shift": TableSpec(
        "a text set",
        (Column("text_set", STRING, "its name"), *_DISTANCES),
        ("text_set",),
    ),
    "compare/shift_layers": TableSpec(
        "a text set and a layer",
        (Column("text_set", STRING, "name of the text set"), _LAYER_OR_ALL, *_DISTANCES, *_INTERVALS),
        ("text_set", "layer"),
    ),
    "compare/shift_neurons": TableSpec(
        "a neuron",
        (
            *NEURON,
            Column(
                "shift",
                FLOAT32,
                "mean distance between the two models' activations, over the sentences of all text sets",
            ),
            Column(
                "jaccard",
                FLOAT32,
                "common winners divided by winners of either model; null unless compared with a run",
                True,
            ),
            Column(
                "rank_correlation",
                FLOAT32,
                "Spearman correlation over the sample; null unless compared with a run",
                True,
            ),
        ),
        ("layer", "unit"),
    ),
}
