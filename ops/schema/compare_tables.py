"""The tables of the job compare."""

from ops.schema.columns import FLOAT32, FLOAT64, INT16, INT32, INT64, LAYER, NEURON, STRING, Column, TableSpec

_PAIR = (
    Column("property", STRING, "table and property, and the pole where it has one: `means:words_per_sentence:top`"),
    Column("layer_a", INT16, "a layer, counted from 1"),
    Column("layer_b", INT16, "a later layer"),
)
_GROUPED = (
    Column("group", INT32, "its group by k-means, counted from 0 in the order of their first members"),
    Column("x", FLOAT32, "place in the t-SNE projection"),
    Column("y", FLOAT32, "place in the t-SNE projection"),
)
_LAYER_OR_ALL = Column("layer", INT16, "layer, counted from 1; 0: all layers together")
_REACH = Column("reach", STRING, "`within` the layer, or `across` layers")
_DISTANCES = (
    Column("n", INT64, "sentences"),
    Column("manhattan", FLOAT32, "Manhattan distance of the two models' vectors, mean over sentences"),
    Column("euclidean", FLOAT32, "Euclidean distance of the two models' vectors, mean over sentences"),
)
_INTERVALS = tuple(
    Column(f"{distance}_{end}", FLOAT32, f"{word} end of its 95 % bootstrap interval")
    for distance in ("manhattan", "euclidean")
    for end, word in (("low", "lower"), ("high", "upper"))
)

_Q = "false discovery rate over all properties and pairs of layers of the table (Benjamini and Hochberg)"
_MOVED = "how far other neurons of later layers move, in their standard deviations, mean; null in the last layer"

TABLES: dict[str, TableSpec] = {
    "compare/dimensions": TableSpec(
        "a scalar property and a pair of layers",
        (
            *_PAIR,
            Column("correlation", FLOAT32, "Pearson correlation of the property across units of the same number"),
            Column("null_low", FLOAT32, "2.5 % quantile of the correlation with the units of `layer_b` permuted"),
            Column("null_high", FLOAT32, "97.5 % quantile of the same"),
            Column("p_value", FLOAT32, "share of permutations with a correlation as far from 0, two-sided"),
            Column("q_value", FLOAT64, _Q),
        ),
        ("property", "layer_a", "layer_b"),
    ),
    "compare/rotated": TableSpec(
        "a scalar property on the activation sample and a pair of layers, beside rotated bases",
        (
            *_PAIR,
            Column("correlation", FLOAT32, "across units of the same number, the property taken on the sample"),
            Column("rotated_mean", FLOAT32, "mean of the same over bases in which all layers are rotated alike"),
            Column("rotated_low", FLOAT32, "lowest of these"),
            Column("rotated_high", FLOAT32, "highest of these"),
            Column("rotations", INT32, "rotated bases"),
            Column("p_value", FLOAT32, "share of the bases, the model's own counted, that agree as much or more"),
            Column("q_value", FLOAT64, _Q),
        ),
        ("property", "layer_a", "layer_b"),
    ),
    "compare/runs": TableSpec(
        "a measure of a table and a layer: its distribution in this run and in a control",
        (
            Column("table", STRING, "table that both runs have: `scores`, `explanations`, `audit/neurons`"),
            Column("measure", STRING, "column of that table, a difference of two, or `verdict` and one of its values"),
            Column("layer", INT16, "layer that both runs have; null: all of these together", True),
            Column("n", INT64, "neurons and poles of this run that have the measure; of R2 and eta squared, neurons"),
            Column("mean", FLOAT64, "their mean; of a verdict, the share that has it"),
            Column("median", FLOAT64, "their median; null for verdicts", True),
            Column("control_n", INT64, "neurons and poles of the control that have it"),
            Column("control_mean", FLOAT64, "mean of these"),
            Column("control_median", FLOAT64, "median of these; null for verdicts", True),
            Column("control_q95", FLOAT64, "95 % quantile of these; null for verdicts", True),
            Column("share_above", FLOAT64, "share of this run's above `control_q95`: 0.05 if the runs are alike", True),
            Column("share_low", FLOAT64, "lower end of its 95 % interval, by a bootstrap over neurons", True),
            Column("share_high", FLOAT64, "upper end of the same", True),
        ),
        ("table", "measure", "layer"),
    ),
    "compare/matches": TableSpec(
        "a unit and its best match in another run",
        (
            *NEURON,
            Column("layer_b", INT16, "layer of the match in the other run; null for silent and constant units", True),
            Column("unit_b", INT32, "unit of the match in the other run", True),
            Column("correlation", FLOAT32, "Pearson correlation with it, the furthest from 0 of all", True),
            Column(
                "rotated",
                FLOAT32,
                "highest absolute correlation with an axis of a rotated layer; null for features",
                True,
            ),
            Column("excess", FLOAT32, "absolute correlation - rotated", True),
            Column(
                "overlap", FLOAT32, "share of the unit's winners that are its match's, poles as they correlate", True
            ),
        ),
        ("layer", "unit"),
        8_192,
    ),
    "compare/universal": TableSpec(
        "a layer and a threshold: the share of units that have a match in the other run",
        (
            Column("layer", INT16, "layer; null: all of them together", True),
            Column("threshold", FLOAT64, "0, 0.1, up to 0.9"),
            Column("n", INT64, "units that have a match"),
            Column("share", FLOAT32, "share of these whose excess is above the threshold; null for features", True),
            Column("correlated", FLOAT32, "share of these whose absolute correlation is above it", True),
            Column("rotated", FLOAT32, "share of these whose `rotated` is above it; null for features", True),
        ),
        ("layer", "threshold"),
    ),
    "compare/diversity": TableSpec(
        "a layer and a number of clusters",
        (
            LAYER,
            Column("clusters", INT32, "clusters of k-means"),
            Column("sse", FLOAT32, "sum of the squared distances of the winners' vectors to their centroids"),
            Column("n", INT64, "winners that were clustered, a sentence as often as it wins"),
            Column("n_distinct", INT64, "distinct sentences among them"),
            Column("seed", INT64, "seed of the draws and of k-means"),
            Column("sse_per_point", FLOAT32, "sse over n"),
            Column("sse_of_uniform", FLOAT32, "sse of as many uniformly drawn sentences, repeated as often"),
        ),
        ("layer", "clusters"),
    ),
    "compare/groups": TableSpec("a neuron, grouped among those of its layer", (*NEURON, *_GROUPED), ("layer", "unit")),
    "compare/joint_groups": TableSpec(
        "a neuron, grouped among those of all layers, each standardised", (*NEURON, *_GROUPED), ("layer", "unit")
    ),
    "compare/sentence_groups": TableSpec(
        "a sentence of the activation sample, grouped by the neurons of a layer",
        (LAYER, Column("sent_id", INT64, "sentence"), *_GROUPED),
        ("layer", "sent_id"),
    ),
    "compare/group_quality": TableSpec(
        "a number of groups in a layer: how distinct and how stable they are",
        (
            _LAYER_OR_ALL,
            Column("grouped", STRING, "`neurons` or `sentences`"),
            Column("groups", INT32, "groups of k-means"),
            Column("n", INT64, "neurons or sentences that are grouped"),
            Column(
                "silhouette", FLOAT32, "mean silhouette (1 distinct, 0 none); null where all points are one group", True
            ),
            Column("silhouette_of_shuffled", FLOAT32, "the same, each neuron's values shuffled over sentences", True),
            Column("rand_index", FLOAT64, "mean adjusted Rand index of pairs of seeds (1 equal, 0 by chance)"),
            Column("rand_index_of_shuffled", FLOAT64, "the same, each neuron's values shuffled over the sentences"),
        ),
        ("layer", "grouped", "groups"),
    ),
    "compare/group_traits": TableSpec(
        "a pattern or value that sets a group of neurons apart: many of its neurons prefer it",
        (
            _LAYER_OR_ALL,
            Column("group", INT32, "group of compare/groups, or where layer is 0 of compare/joint_groups"),
            Column("pole", STRING, "`top`: the highest activations; `bottom`: the lowest"),
            Column("kind", STRING, "`word`, `tag`, `subtree`, or the name of a property"),
            Column("trait", STRING, "the pattern or value"),
            Column("count", INT64, "neurons of the group that prefer it (q < 0.05, among their first)"),
            Column("n", INT64, "neurons of the group"),
            Column("share", FLOAT32, "count over n"),
            Column("other_share", FLOAT32, "share among the neurons outside the group"),
            Column("g2", FLOAT32, "log-likelihood ratio of the two shares"),
            Column("q_value", FLOAT64, "false discovery rate over all groups and traits of the layer"),
            Column("rank", INT32, "rank by g2 within the group, counted from 1"),
        ),
        ("layer", "group", "rank"),
    ),
    "compare/neighbours": TableSpec(
        "a neuron and one near it",
        (
            *NEURON,
            Column("rank", INT32, "rank by correlation, counted from 1"),
            Column("layer_b", INT16, "layer of the other neuron"),
            Column("unit_b", INT32, "unit of the other neuron"),
            Column("correlation", FLOAT32, "Pearson, over the activation sample; null where one is constant", True),
            Column("overlap", FLOAT32, "share of the neuron's winners that are the other's, pole by pole"),
        ),
        ("layer", "unit", "rank"),
    ),
    "compare/nearest": TableSpec(
        "a layer and a reach: how near the nearest neuron is, beside what chance and rotated bases give",
        (
            LAYER,
            _REACH,
            Column("n", INT64, "neurons drawn, over which the means are"),
            Column("correlation", FLOAT32, "mean of the highest correlation"),
            Column(
                "correlation_of_rotated",
                FLOAT32,
                "the same where all layers are rotated alike; null for dictionaries",
                True,
            ),
            Column("correlation_of_shuffled", FLOAT32, "the same, the neuron's own values shuffled over sentences"),
            Column("overlap", FLOAT32, "mean of the largest overlap of winners"),
            Column("overlap_of_shuffled", FLOAT32, "the same, the neuron's own winners replaced by random sentences"),
        ),
        ("layer", "reach"),
    ),
    "compare/ablation": TableSpec(
        "a property and one of the neurons that have most of it, set to its mean",
        (
            Column("property", STRING, "table and property, and the pole where it has one, as in compare/dimensions"),
            Column("rank", INT32, "rank by the property, the highest first, counted from 1"),
            *NEURON,
            Column("n", INT64, "sentences that were read"),
            Column("std", FLOAT32, "the neuron's standard deviation over the corpus"),
            Column("moved", FLOAT32, _MOVED, True),
            Column("n_random", INT32, "random neurons of its layer with a similar standard deviation"),
            Column("random_std", FLOAT32, "mean standard deviation of these", True),
            Column("random", FLOAT32, "mean over these of how far they move others, as moved", True),
            Column("random_high", FLOAT64, "highest of these", True),
            Column("p_value", FLOAT32, "share of these, the neuron counted, that move others as much or more", True),
            Column("own_layer", INT16, "later layer whose unit of the same number moves most; null where none", True),
            Column("own_moved", FLOAT32, "how far that one moves, in its standard deviations", True),
            Column("layer_b", INT16, "layer of the other neuron that moves most; null in the last layer", True),
            Column("unit_b", INT32, "unit of the other neuron that moves most", True),
            Column("moved_b", FLOAT32, "how far it moves, in its standard deviations", True),
            Column("p_value_b", FLOAT32, "share as p_value, by how far the other neuron that moves most does", True),
            Column(
                "output", FLOAT32, "how far a classifier's probabilities move (total variation); null without", True
            ),
            Column("output_random", FLOAT32, "mean of the same of the neurons drawn", True),
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
            Column("shift", FLOAT32, "distance of the two models' activations, mean over all text sets' sentences"),
            Column("jaccard", FLOAT32, "winners in common over winners of either; null but against a run", True),
            Column("rank_correlation", FLOAT32, "Spearman, over the sample; null but against a run", True),
        ),
        ("layer", "unit"),
    ),
}
