"""The tables of the side job mixing."""

from ops.schema.columns import LAYER, tables

_STAGE = "stage string: `attn`: attention alone; `attn_res`: with the residual; `attn_res_ln`: after LayerNorm"
_CLASS = "token_class string: `all`, `cls`, `sep`, `mask`, `punct` (period or comma), `other`"
_MEAN_RATIO = """
n int64: tokens
mean float32: mean of the tokens' mixing ratios
std float32: their standard deviation (ddof 0)
"""

TABLES = tables(f"""
table mixing/ratios by layer, stage, token_class: a layer, stage and token class
    {LAYER}
    {_STAGE}
    {_CLASS}
    {_MEAN_RATIO}

table mixing/lengths by layer, stage, length: a layer, stage and length of the sequences
    {LAYER}
    {_STAGE}
    length int32: tokens of the sequence, including special tokens
    {_MEAN_RATIO}

table mixing/norms by layer, quantity, token_class: a layer, quantity and token class
    {LAYER}
    quantity string: `attn_mixing`, `attn_preserving`, `residual`, `residual_ln` (after LayerNorm)
    {_CLASS}
    n int64: tokens
    mean float32: mean Euclidean norm of the tokens' vectors
    std float32: standard deviation of these norms (ddof 0)

table mixing/tokens by sent_id, position, layer: a token of a sequence, and a layer
    sent_id int64: the sequence's first sentence
    position int32: place in the sequence; 0 is the first token ([CLS] if there is one)
    token string: token as the model saw it, after masking
    {LAYER}
    attn float32: mixing ratio of attention alone
    attn_res float32: mixing ratio with the residual
    attn_res_ln float32?: mixing ratio after LayerNorm; null in pre-LN models
""")
