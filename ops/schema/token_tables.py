"""The tables of the job tokens: the tokens at which a neuron fires."""

from ops.schema.columns import NEURON, NEURON_AND_POLE, tables

_TOKENS = """
tokens list[string]: the model's tokens, as its vocabulary writes them
starts list[int32]: where each token begins in `sentences.text`, in characters; null if the tokenizer added it
ends list[int32]: where each token ends, exclusive; null if the tokenizer added it
activations list[float32]: the neuron's activation at each token
"""

TABLES = tables(f"""
table token_activations by layer, unit, pole, rank in groups of 2048: one of a neuron's first winners, token by token
    {NEURON_AND_POLE}
    rank int32: rank among the neuron's winners, counted from 1
    sent_id int64: sentence
    {_TOKENS}

table negative_tokens by layer, unit, pole, rank in groups of 2048: a hard negative of a neuron, token by token
    {NEURON}
    pole string: the pole whose winners it resembles
    rank int32: rank by the explanation's score, counted from 1
    sent_id int64: sentence
    {_TOKENS}

table peaks by layer, unit, pole, property, rank: a word or tag at which a neuron's first winners peak
    {NEURON_AND_POLE}
    property string: `peak_word` or `peak_tag`
    value string: the word as written, or its Penn tag
    count int64: winners that peak there
    n int64: winners that peak at a word (tags: at a word with a tag)
    share float32: `count` divided by `n`
    baseline_share float32: share expected by chance: its mean share of a sentence's words
    lift float32: `share` divided by `baseline_share`, smoothed
    g2 float32: log-likelihood ratio; negative if the share is below the baseline's
    design_effect float32?: at least 1; weakens p; null, and p is 1, if all comes from one document
    p_value float32: probability of a count at least this far from the expected one, given that it is not 0
    q_value float64: false discovery rate within neuron, pole and property
    rank int32: rank by g2 within neuron, pole and property, counted from 1
""")
