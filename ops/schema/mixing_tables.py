"""The tables of the side job mixing."""

from ops.schema.columns import FLOAT32, INT32, INT64, LAYER, STRING, Column, TableSpec

_STAGE = Column(
    "stage", STRING, "`attn`: attention alone; `attn_res`: with the residual; `attn_res_ln`: after LayerNorm"
)
_CLASS = Column("token_class", STRING, "`all`, `cls`, `sep`, `mask`, `punct` (period or comma), `other`")
_MEAN_RATIO = (
    Column("n", INT64, "tokens"),
    Column("mean", FLOAT32, "mean of the tokens' mixing ratios"),
    Column("std", FLOAT32, "their standard deviation (ddof 0)"),
)

TABLES: dict[str, TableSpec] = {
    "mixing/ratios": TableSpec(
        "a layer, stage and token class",
        (LAYER, _STAGE, _CLASS, *_MEAN_RATIO),
        ("layer", "stage", "token_class"),
    ),
    "mixing/lengths": TableSpec(
        "a layer, stage and length of the sequences",
        (LAYER, _STAGE, Column("length", INT32, "tokens of the sequence, including special tokens"), *_MEAN_RATIO),
        ("layer", "stage", "length"),
    ),
    "mixing/norms": TableSpec(
        "a layer, quantity and token class",
        (
            LAYER,
            Column("quantity", STRING, "`attn_mixing`, `attn_preserving`, `residual`, `residual_ln` (after LayerNorm)"),
            _CLASS,
            Column("n", INT64, "tokens"),
            Column("mean", FLOAT32, "mean Euclidean norm of the tokens' vectors"),
            Column("std", FLOAT32, "standard deviation of these norms (ddof 0)"),
        ),
        ("layer", "quantity", "token_class"),
    ),
    "mixing/tokens": TableSpec(
        "a token of a sequence, and a layer",
        (
            Column("sent_id", INT64, "the sequence's first sentence"),
            Column("position", INT32, "place in the sequence; 0 is the first token ([CLS] if there is one)"),
            Column("token", STRING, "token as the model saw it, after masking"),
            LAYER,
            Column("attn", FLOAT32, "mixing ratio of attention alone"),
            Column("attn_res", FLOAT32, "mixing ratio with the residual"),
            Column("attn_res_ln", FLOAT32, "mixing ratio after LayerNorm; null in pre-LN models", True),
        ),
        ("sent_id", "position", "layer"),
    ),
}
