"""The tables of the main job: ingest, topk, annotate and mine."""

from ops.schema.columns import NEURON, NEURON_AND_POLE, interval, tables

_SENTENCE = """
sent_id int64: sentence id, counted from 0 without gaps in the order of the sources
text string: the sentence
dataset string: name of the data set
doc_id string: document that contains the sentence
meta meta: metadata of the document: a string or null for each key of the run's sources
"""
_G2 = """
g2 float32: log-likelihood ratio; negative if the share is below the baseline's
design_effect float32?: `g2` is divided by this for `q_value`; null, and p is 1, if all comes from one document
"""

TABLES = tables(f"""
table corpus by sent_id: a sentence
    {_SENTENCE}
    sent_in_doc int32: place in its document, counted from 0, before duplicates were dropped
    n_tokens int32: model tokens after truncation, including special tokens
    n_copies int32: how often the sentence occurs in the sources (1: once)

table rejects: something ingest dropped
    dataset string: name of the data set
    doc_id string: document that contained it
    text string: first 200 characters of the text; undecodable bytes are replaced
    reason string: empty, invalid_text, too_short, too_long (over 4 million characters), unknown_tokens, no_role (of a \
        message), not_text (or a part of one) or broken

table unscored by sent_id: a sentence that could not be scored
    sent_id int64: sentence
    reason string: what was not finite, and the first layer where this happened

table topk by layer, unit, pole, rank: a winner
    {NEURON_AND_POLE}
    rank int32: rank among the neuron's winners, counted from 1
    activation float32: the neuron's activation, pooled over the sentence's tokens
    sent_id int64: sentence

table topk_by_dataset by layer, unit, pole, dataset, rank: a winner within a data set
    {NEURON_AND_POLE}
    dataset string: name of the data set
    rank int32: rank among the neuron's winners within the data set, counted from 1
    activation float32: the neuron's activation, pooled over the sentence's tokens
    sent_id int64: sentence

table neurons by layer, unit: a neuron
    {NEURON}
    n int64: sentences scored
    mean float64: mean activation
    std float64: standard deviation (ddof 0)
    skew float64?: skewness, without bias correction; null for a constant neuron
    kurtosis float64?: excess kurtosis, without bias correction; null for a constant neuron
    min float32: lowest activation
    max float32: highest activation
    histogram_edges list[float32]: the m - 1 inner edges of the bins, strictly ascending
    histogram_counts list[int64]: m counts; bin i holds edge[i-1] <= x < edge[i]
    top_threshold float32?: activation of the last winner of the pole `top`
    bottom_threshold float32?: activation of the last winner of the pole `bottom`
    top_mean float64?: mean activation of the winners of the pole `top`
    bottom_mean float64?: mean activation of the winners of the pole `bottom`
    n_active int64?: sentences in which a sparse feature is active; null for other units
    tokens_active int64?: tokens at which a sparse feature is active; null for other units
    is_silent bool: `std` is at most 1e-6 of the largest absolute activation in the layer

table sentences by sent_id in groups of 512: a sentence that another table refers to
    {_SENTENCE}
    words list[string]?: the sentence's words, without white space
    tags list[string]?: Penn tag of each word
    tree string?: phrase structure as a Penn bracketed string
    is_baseline bool: whether it is in the uniform baseline sample
    is_winner bool: whether it is a winner of some neuron in `topk/`
    fold int8: fold of its document, 0 to 9; scores learned from some folds are tested on others
    wins int32: neurons and poles for which it is a winner in `topk/`

table patterns by layer, unit, pole, kind, rank: a pattern of a neuron
    {NEURON_AND_POLE}
    kind string: `word`, `tag` or `subtree`
    pattern string: the pattern, readable
    items list[string]: its items in order
    size int32: number of items
    support int32: winners that contain it
    share float32: `support` divided by the number of winners
    baseline_share float32?: share among the baseline sentences outside these winners
    lift float32?: `share` divided by `baseline_share`, smoothed
    lift_low float32?: lower 95 % bound of the lift
    {_G2}
    q_value float64?: false discovery rate within neuron, pole and kind
    docs int32: distinct documents that the support comes from
    rank int32: rank by g2 within neuron, pole and kind, counted from 1

table profiles by layer, unit, pole, property, rank: one value of one property of a neuron
    {NEURON_AND_POLE}
    property string: `dataset`, `words_per_sentence`, `tag`, `tag_class`, `noun`, `verb`, `adjective`, `punctuation` \
        (a mark), a form (`form`, `first_word`, `last_word`, `pronoun`, `tense`, `prefix`, `suffix`, `shape`), or the \
        name of a meta key
    value string: value of the property
    count int64: winners (or their tokens) with the value
    n int64: winners (or their tokens) that have the property
    share float32: `count` divided by `n`
    baseline_share float32?: share in the baseline outside these winners
    baseline_n int64: baseline sentences (or tokens) outside these winners that have the property
    lift float32?: `share` divided by `baseline_share`, smoothed
    {_G2}
    q_value float64?: false discovery rate within neuron, pole and property, two-sided
    docs int32: distinct documents that the count comes from
    rank int32: rank by g2 within neuron, pole and property, counted from 1

table means by layer, unit, pole, property: a numeric property of a neuron's winners
    {NEURON_AND_POLE}
    property string: `words_per_sentence`, `verbs_per_sentence`, `nouns_per_sentence`
    n int64: winners
    mean float64: mean over the winners
    std float64: standard deviation over the winners (ddof 0)
    baseline_mean float64?: mean over the baseline outside these winners
    baseline_std float64?: standard deviation over the baseline outside these winners

table scores by layer, unit, pole: a neuron and pole: how well its description separates held-out winners from the \
    baseline
    {NEURON_AND_POLE}
    auc float64?: area under the ROC curve on each half of the documents, learned from the other half, compared with \
        sentences that have the winners' lengths and data sets; null if there are none
    {interval("auc")}
    n_winners int64: winners, of both halves
    n_baseline int64: baseline sentences that they were compared with, of both halves
    matched_auc float64?: the same for a set matched to the winners in length and data set
    {interval("matched")}
    random_auc float64?: the same for a random set of as many baseline sentences
    {interval("random")}
    auc_excess float64?: auc - matched_auc; null where the winners of either set come from fewer than 10 documents
    {interval("auc_excess")}

table chance by source, family, drawn: a family of tests: how many neurons and poles have a finding, and how many \
    would have one by chance
    source string: `patterns` or `profiles`; `all`: complete descriptions
    family string: kind of pattern, or property, whose values are tested together
    drawn string: how the random sets were drawn: `uniform`, or `documents`: from as few documents as the winners
    n int64: neurons and poles
    found int64: neurons and poles with a finding: q below 0.05 and lift above 1
    n_sets int64: random sets
    found_sets int64: random sets with a finding
    expected float64: neurons and poles that would have a finding by chance
    {interval("expected", kind="float64")}
""")
