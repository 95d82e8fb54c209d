"""The tables of the job compare."""

from ops.schema.columns import LAYER, NEURON, interval, tables

_PAIR = """
property string: table and property, with the pole if it has one: `means:words_per_sentence:top`
layer_a int16: a layer, counted from 1
layer_b int16: a later layer
"""
_GROUPED = """
group int32: its k-means group, counted from 0; groups are ordered by their first members
x float32: first coordinate on the t-SNE map
y float32: second coordinate on the t-SNE map
"""
_LAYER_OR_ALL = "layer int16: layer, counted from 1; 0: all layers together"
_REACH = "reach string: `within`: neurons of the same layer; `across`: neurons of other layers"
_DISTANCES = """
n int64: sentences
manhattan float32: mean Manhattan distance between the two models' vectors of a sentence
euclidean float32: mean Euclidean distance between the two models' vectors of a sentence
"""
_APART = ", by document; null if all sentences are from one"
_Q = "false discovery rate over all properties and pairs of layers in the table (Benjamini and Hochberg)"
_MOVED = "how far other neurons of later layers move on average, in their standard deviations; null in the last layer"

TABLES = tables(f"""
table compare/dimensions by property, layer_a, layer_b: a scalar property and a pair of layers
    {_PAIR}
    correlation float32: Pearson correlation of the property across units of the same number
    null_low float32: 2.5 % quantile of the correlation with the units of `layer_b` permuted
    null_high float32: 97.5 % quantile of the same correlation
    p_value float32: share of permutations with a correlation at least as far from 0, two-sided
    q_value float64: {_Q}

table compare/rotated by property, layer_a, layer_b: a scalar property on the activation sample and a pair of layers, \
    compared with rotated bases
    {_PAIR}
    correlation float32: correlation across units of the same number, with the property computed on the sample
    rotated_mean float32: mean correlation over bases in which all layers are rotated in the same way
    rotated_low float32: lowest correlation in these bases
    rotated_high float32: highest correlation in these bases
    rotations int32: number of rotated bases
    p_value float32: share of the bases, including the model's own, that agree at least as much
    q_value float64: {_Q}

table compare/runs by table, measure, layer: a measure and a layer: how the measure is distributed in this run and in \
    a control
    table string: table that both runs have: `scores`, `explanations`, `audit/neurons`
    measure string: column of that table, a difference of two columns, or `verdict` and a value of it
    layer int16?: layer that both runs have; null: all such layers together
    n int64: neurons and poles of this run with the measure; for R2 and eta squared, neurons
    mean float64: their mean; for a verdict, the share that has it
    median float64?: their median; null for verdicts
    control_n int64: neurons and poles of the control with the measure
    control_mean float64: mean in the control
    control_median float64?: median in the control; null for verdicts
    control_q95 float64?: 95 % quantile in the control; null for verdicts
    share_above float64?: share of this run's values above `control_q95`; 0.05 if both runs score the same
    {interval("share", ", from a bootstrap over neurons")}

table compare/matches by layer, unit in groups of 8192: a unit and its best match in another run
    {NEURON}
    layer_b int16?: layer of the match in the other run; null for silent and constant units
    unit_b int32?: unit of the match in the other run
    correlation float32?: Pearson correlation with the match, the furthest from 0 of all units
    rotated float32?: highest absolute correlation with an axis of a rotated layer; null for features
    excess float32?: absolute correlation - `rotated`
    overlap float32?: share of the unit's winners that its match has; opposite poles if the correlation is negative

table compare/universal by layer, threshold: a layer and a threshold: the share of units that have a match in the \
    other run
    layer int16?: layer; null: all layers together
    threshold float64: lower limit: 0, 0.1, up to 0.9
    n int64: units that have a match
    share float32?: share of these whose `excess` is above the threshold; null for features
    correlated float32?: share of these whose absolute correlation is above it
    rotated float32?: share of these whose `rotated` is above it; null for features

table compare/diversity by layer, clusters: a layer and a number of clusters
    {LAYER}
    clusters int32: number of k-means clusters
    sse float32: sum of the squared distances of the winners' vectors to their centroids
    n int64: winners that were clustered; a sentence counts each time it wins
    n_distinct int64: distinct sentences among them
    seed int64: seed of the draws and of k-means
    sse_per_point float32: `sse` divided by `n`
    sse_of_uniform float32: `sse` of as many uniformly drawn sentences with the same repetitions

table compare/groups by layer, unit: a neuron, grouped with those of its layer
    {NEURON}
    {_GROUPED}

table compare/joint_groups by layer, unit: a neuron, grouped with those of all layers; each neuron is standardised
    {NEURON}
    {_GROUPED}

table compare/sentence_groups by layer, sent_id: a sentence of the activation sample, grouped by the activations of a \
    layer's neurons
    {LAYER}
    sent_id int64: sentence
    {_GROUPED}

table compare/group_quality by layer, grouped, groups: a layer and a number of groups: how distinct and how stable the \
    groups are
    {_LAYER_OR_ALL}
    grouped string: `neurons` or `sentences`
    groups int32: number of k-means groups
    n int64: neurons or sentences that are grouped
    silhouette float32?: mean silhouette (1: distinct groups, 0: none); null if all points are in one group
    silhouette_of_shuffled float32?: the same with each neuron's values shuffled over sentences
    rand_index float64: mean adjusted Rand index over pairs of seeds (1: equal groups, 0: as by chance)
    rand_index_of_shuffled float64: the same with each neuron's values shuffled over sentences

table compare/group_traits by layer, group, rank: a pattern or value that sets a group of neurons apart: many of its \
    neurons prefer it
    {_LAYER_OR_ALL}
    group int32: group in `compare/groups`, or in `compare/joint_groups` if the layer is 0
    pole string: `top`: the highest activations; `bottom`: the lowest
    kind string: `word`, `tag`, `subtree`, or the name of a property
    trait string: the pattern or value
    count int64: neurons of the group that prefer it (q < 0.05, and among their first findings)
    n int64: neurons of the group
    share float32: `count` divided by `n`
    other_share float32: share among the neurons outside the group
    g2 float32: log-likelihood ratio of the two shares
    q_value float64: false discovery rate over all groups and traits of the layer
    rank int32: rank by g2 within the group, counted from 1

table compare/neighbours by layer, unit, rank: a neuron and one of the neurons nearest to it
    {NEURON}
    rank int32: rank by correlation, counted from 1
    layer_b int16: layer of the other neuron
    unit_b int32: unit of the other neuron
    correlation float32?: Pearson correlation over the activation sample; null if either neuron is constant
    overlap float32: share of the neuron's winners that are also the other's, pole by pole

table compare/nearest by layer, reach: a layer and a reach: how similar the nearest neuron is, compared with chance \
    and rotated bases
    {LAYER}
    {_REACH}
    n int64: number of neurons drawn, over which the means are taken
    correlation float32: mean of each neuron's highest correlation
    correlation_of_rotated float32?: the same with all layers rotated in the same way; null for dictionaries
    correlation_of_shuffled float32: the same with the neuron's own values shuffled over sentences
    overlap float32: mean of each neuron's largest overlap of winners
    overlap_of_shuffled float32: the same with the neuron's own winners replaced by random sentences

table compare/ablation by property, rank: a property and one of the neurons with the highest values of it; the neuron \
    is set to its mean
    property string: table and property, with the pole if it has one, as in `compare/dimensions`
    rank int32: rank by the property, highest first, counted from 1
    {NEURON}
    n int64: number of sentences read
    std float32: the neuron's standard deviation over the corpus
    moved float32?: {_MOVED}
    n_random int32: number of random neurons of its layer with a similar standard deviation
    random_std float32?: mean standard deviation of these
    random float32?: mean of `moved` over the random neurons
    random_high float64?: highest `moved` of the random neurons
    p_value float32?: share of these, including the neuron, that move others at least as much
    own_layer int16?: later layer whose unit of the same number moves most; null if there is none
    own_moved float32?: how far that unit moves, in its standard deviations
    layer_b int16?: layer of the other neuron that moves most; null in the last layer
    unit_b int32?: unit of the other neuron that moves most
    moved_b float32?: how far it moves, in its standard deviations
    p_value_b float32?: `p_value` computed from `moved_b` instead of `moved`
    output float32?: how far a classifier's probabilities move (total variation); null without a classifier
    output_random float32?: mean of `output` over the random neurons

table compare/shift by text_set: a text set
    text_set string: its name
    {_DISTANCES}

table compare/shift_layers by text_set, layer: a text set and a layer
    text_set string: name of the text set
    {_LAYER_OR_ALL}
    {_DISTANCES}
    {interval("manhattan", _APART, "float32?")}
    {interval("euclidean", _APART, "float32?")}

table compare/shift_neurons by layer, unit: a neuron
    {NEURON}
    shift float32: mean distance between the two models' activations, over the sentences of all text sets
    jaccard float32?: common winners divided by winners of either model, at the poles and for the K of both \
        runs; null unless compared with a run
    rank_correlation float32?: Spearman correlation over the sample; null unless compared with a run
""")
