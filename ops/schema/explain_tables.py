"""The tables of the job explain: what each neuron responds to, in words, and how reliable this is."""

from ops.schema.columns import LAYER, NEURON, NEURON_AND_POLE, interval, quantiles, tables

_FEW = "; null with fewer than 10 documents"
_NAMED = """
kind string: `word`, `tag`, `subtree`, `mark`, `value`, `length`, `word_class`, `form` or `hub`
pattern string: the literal, readable
items list[string]: its parts; for a class of words, all of them; for a key of metadata, the key alone
negated bool: whether sentences must lack the literal
"""

TABLES = tables(f"""
table explanations by layer, unit, pole in groups of 8192: a neuron and pole, explained in one sentence; scores are \
    those of ten cards, each learned from nine folds of the documents and tested on the tenth
    {NEURON_AND_POLE}
    text string: the explanation in words: what is typical, the rule or why there is none, and the activation
    typical list[typical]: what is more frequent among the winners than sentences of the same data sets and lengths \
        give, strongest first; empty if nothing is
    literals int16: number of literals of the published card; 0 if it has none
    average_precision float64?: mean average precision of the folds, at the corpus's rate of winners
    {interval("average_precision", _FEW)}
    precision float64?: share of the sentences called winners that are winners, at that rate
    {interval("precision", _FEW)}
    recall float64?: share of the winners that are called winners
    {interval("recall", _FEW)}
    f1 float64?: harmonic mean of precision and recall
    {interval("f1", _FEW)}
    f1_in_sample float64?: F1 of the published card on the documents that it was learned from
    auc float64?: mean area under the ROC curve of the folds
    single_f1 float64?: F1 of the best single literal
    nuisance_f1 float64?: F1 of nuisance literals alone
    matched_f1 float64?: F1 of a set matched to the winners in length and data set
    chance_f1 float64: F1 of calling every sentence a winner
    margin float64?: the smallest of the three differences of `f1` to these controls
    {interval("margin", _FEW)}
    folds int8: folds in which the card's F1 is above all three controls
    r2 float64?: share of the activation's variance that the activation model explains on test documents
    {interval("r2", _FEW)}
    r2_nuisance float64?: the same for nuisance literals alone
    r2_shuffled float64?: r2 with the activations shuffled over the sentences
    n int64: number of winners
    family int32: its family, counted from 0
    verdict string: `rule`, `tendency`, `source`, `unconfirmed`, `none` or `weak`

table explanation_terms by layer, unit, model, pole, rank in groups of 8192: a literal of an explanation
    {NEURON}
    pole string?: `top` or `bottom`; null for the activation model
    model string: `activation`: the model of the activation; `winners`: the score card of a pole
    rank int32: order in which it was chosen, nuisance literals first, counted from 1
    {_NAMED}
    weight float64: what it adds to a sentence that has it: log-odds, or activation
    share float32: share of the winners for which it holds as stated, in the test folds of the cards that chose it; \
        activation model: of the highest tenth
    baseline_share float32?: the same share among other sentences; activation model: of the sample
    gain float64?: average precision (activation model: R2) lost without it on test documents
    stability int8?: folds whose card has it or a near-copy; null for the activation model
    also list[string]: literals that hold for almost the same sentences
    sent_ids list[int64]: three example sentences for which it holds as stated

table explanation_folds by layer, unit, pole, fold, rank in groups of 8192: a literal of the card of a fold, which \
    was learned from the other folds
    {NEURON_AND_POLE}
    fold int8: the fold on which the card is tested, 0 to 9
    rank int32: order in which it was chosen, nuisance literals first, counted from 1
    {_NAMED}
    weight float64: log-odds that it adds to a sentence that has it
    intercept float64: log-odds of a sentence with none of the card's literals
    threshold float64: score from which the card calls a sentence a winner

table families by layer, unit, pole: a neuron and pole of a family, whose members' activations correlate
    family int32: family, counted from 0 in the order of the leaders
    {NEURON_AND_POLE}
    correlation float32: Pearson correlation with the leader's activation; the leader's own is 1
    is_leader bool: whether it has the highest F1 of the family

table explain/controls by layer, basis, model, measure: a layer, basis, model and measure: how the measure is \
    distributed over the axes
    {LAYER}
    basis string: `neurons`; `rotated`: axes of a random rotation; `shuffled`: neurons with shuffled activations
    model string: `activation` or `winners`
    measure string: column of `explanations/`; `r2_beyond`: `r2` - `r2_nuisance`; or `found`: a card beats chance and \
        nuisance as a rule does
    n int64: number of axes, or of axes and poles, that have the measure
    mean float64: mean of the measure
    {quantiles()}

table explain/literals: a literal available to explanations
    kind string: `word`, `tag`, `subtree`, `mark`, `word_class`, `form`, `length` or `value`
    pattern string: the literal, readable
    items list[string]: its parts; for a class of words, all of them
    listed int64: neurons and poles that list it; 0 for classes of words, lengths and values

table examples by layer, unit, quantile, pole, rank, sent_id in groups of 8192: a sentence from a tenth of a neuron's \
    range, or a hard negative of one of its poles
    {NEURON}
    pole string?: for a hard negative, the pole whose winners it resembles; otherwise null
    quantile int16?: tenth of the activation sample, 0 (the lowest) to 9 (the highest); null: a hard negative
    rank int32?: for a hard negative, its rank by the explanation's score, counted from 1; otherwise null
    sent_id int64: sentence
    activation float32: the neuron's activation
""")
