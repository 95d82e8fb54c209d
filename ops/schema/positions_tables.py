"""The tables of the side job positions."""

from ops.schema.columns import LAYER, interval, tables

_MODEL = "model string: name of the model as given"
_VARIANT = "variant string: what was done to the positions: `default`, `none`, `shuffled`, ..."
_REFERENCE = """
reference string: `default`: the same token's default state; `default_centred`: with the mean states subtracted; \
    `random_pair`, `random_pair_centred`: another text's token; `gaussian`: two random vectors
"""
_POSITION = "position int32: place in the text; 0 is the first token"
_COSINES = """
n int64: cosines
mean float32: their mean; for random pairs, over all pairs of tokens of different texts
std float32: their standard deviation (ddof 0)
"""
_SAME = "reference string: `default` or `default_centred`, as in positions/similarity"

TABLES = tables(f"""
table positions/similarity by model, layer, variant, reference: a layer, a variant, and the reference that its states \
    are compared with
    {_MODEL}
    {LAYER}
    {_VARIANT}
    {_REFERENCE}
    {_COSINES}
    histogram_edges list[float32]: the m - 1 inner edges of the bins, strictly ascending
    histogram_counts list[int64]: m counts; bin i holds edge[i-1] <= cosine < edge[i]

table positions/by_class by model, layer, variant, reference, token_class: a layer, variant, reference and token class
    {_MODEL}
    {LAYER}
    {_VARIANT}
    {_SAME}
    token_class string: `cls`, `sep`, `mask`, `punct` (period or comma), `other`
    {_COSINES}

table positions/by_position by model, layer, variant, reference, position: a layer, variant, reference and position in \
    the text
    {_MODEL}
    {LAYER}
    {_VARIANT}
    {_SAME}
    {_POSITION}
    {_COSINES}

table positions/perplexity by model, variant: a variant (decoders)
    {_MODEL}
    {_VARIANT}
    n int64: texts
    mean float32: mean of the texts' perplexities
    corpus float32: exp of the mean loss over all predicted tokens
    token_mean float32: mean of 1/p over all predicted tokens

table positions/perplexity_by_position by model, variant, position: a variant and position in the text (decoders)
    {_MODEL}
    {_VARIANT}
    position int32: place of the predicted token in the text; 0 is the first token
    n int64: predicted tokens
    loss float32: mean of -log p, in nats
    loss_std float32: its standard deviation (ddof 0)
    perplexity float32: exp of the mean loss

table positions/norms by model, position: a position
    {_MODEL}
    {_POSITION}
    norm float32: Euclidean norm of its embedding
    n int64: tokens of the corpus at this position
    input_norm float32?: mean norm of the sum of all embeddings, before any LayerNorm
    ratio float32?: mean of the position embedding's norm divided by the sum's
    share float32?: mean share of the sum's squared norm that the position embedding adds

table positions/labels by model, label, features: a set of features on which a classifier of the label is trained \
    (with --label)
    {_MODEL}
    label string: column that is predicted
    features string: a variant (mean state of the last layer), `tokens` (a bag of tokens), or `majority`
    splits int32: splits by document, the same for all features
    n_train int64: texts that it was trained on, mean over the splits
    n int64: texts of other documents that it was tested on, mean over the splits
    classes int32: distinct labels
    accuracy float32: share of these whose label it predicts, mean over the splits
    std float32: standard deviation over the splits (ddof 1)
    {interval("", " (of `accuracy`)", "float32")}
    difference float32?: accuracy minus that of `default`, mean over the splits; null for `default`
    {interval("difference", kind="float32?")}
""")
