"""The tables of the side job positions."""

import pyarrow as pa

from ops.schema.columns import FLOAT32, INT32, INT64, LAYER, STRING, Column, TableSpec, interval

_MODEL = Column("model", STRING, "name of the model as given")
_VARIANT = Column("variant", STRING, "what was done to the positions: `default`, `none`, `shuffled`, ...")
_REFERENCE = Column(
    "reference",
    STRING,
    "`default`: the same token's default state; `default_centred`: with the mean states subtracted; `random_pair`, "
    "`random_pair_centred`: another text's token; `gaussian`: two random vectors",
)
_POSITION = Column("position", INT32, "place in the text; 0 is the first token")
_COSINES = (
    Column("n", INT64, "cosines"),
    Column("mean", FLOAT32, "their mean; for random pairs, over all pairs of tokens of different texts"),
    Column("std", FLOAT32, "their standard deviation (ddof 0)"),
)
_SAME = Column("reference", STRING, "`default` or `default_centred`, as in positions/similarity")

TABLES: dict[str, TableSpec] = {
    "positions/similarity": TableSpec(
        "a layer, a variant, and the reference that its states are compared with",
        (
            _MODEL,
            LAYER,
            _VARIANT,
            _REFERENCE,
            *_COSINES,
            Column("histogram_edges", pa.list_(FLOAT32), "the m - 1 inner edges of the bins, strictly ascending"),
            Column("histogram_counts", pa.list_(INT64), "m counts; bin i holds edge[i-1] <= cosine < edge[i]"),
        ),
        ("model", "layer", "variant", "reference"),
    ),
    "positions/by_class": TableSpec(
        "a layer, variant, reference and token class",
        (
            _MODEL,
            LAYER,
            _VARIANT,
            _SAME,
            Column("token_class", STRING, "`cls`, `sep`, `mask`, `punct` (period or comma), `other`"),
            *_COSINES,
        ),
        ("model", "layer", "variant", "reference", "token_class"),
    ),
    "positions/by_position": TableSpec(
        "a layer, variant, reference and position in the text",
        (_MODEL, LAYER, _VARIANT, _SAME, _POSITION, *_COSINES),
        ("model", "layer", "variant", "reference", "position"),
    ),
    "positions/perplexity": TableSpec(
        "a variant (decoders)",
        (
            _MODEL,
            _VARIANT,
            Column("n", INT64, "texts"),
            Column("mean", FLOAT32, "mean of the texts' perplexities"),
            Column("corpus", FLOAT32, "exp of the mean loss over all predicted tokens"),
            Column("token_mean", FLOAT32, "mean of 1/p over all predicted tokens"),
        ),
        ("model", "variant"),
    ),
    "positions/perplexity_by_position": TableSpec(
        "a variant and position in the text (decoders)",
        (
            _MODEL,
            _VARIANT,
            Column("position", INT32, "place of the predicted token in the text; 0 is the first token"),
            Column("n", INT64, "predicted tokens"),
            Column("loss", FLOAT32, "mean of -log p, in nats"),
            Column("loss_std", FLOAT32, "its standard deviation (ddof 0)"),
            Column("perplexity", FLOAT32, "exp of the mean loss"),
        ),
        ("model", "variant", "position"),
    ),
    "positions/norms": TableSpec(
        "a position",
        (
            _MODEL,
            _POSITION,
            Column("norm", FLOAT32, "Euclidean norm of its embedding"),
            Column("n", INT64, "tokens of the corpus at this position"),
            Column("input_norm", FLOAT32, "mean norm of the sum of all embeddings, before any LayerNorm", True),
            Column("ratio", FLOAT32, "mean of the position embedding's norm divided by the sum's", True),
            Column("share", FLOAT32, "mean share of the sum's squared norm that the position embedding adds", True),
        ),
        ("model", "position"),
    ),
    "positions/labels": TableSpec(
        "a set of features on which a classifier of the label is trained (with --label)",
        (
            _MODEL,
            Column("label", STRING, "column that is predicted"),
            Column(
                "features",
                STRING,
                "a variant (mean state of the last layer), `tokens` (a bag of tokens), or `majority`",
            ),
            Column("splits", INT32, "splits by document, the same for all features"),
            Column("n_train", INT64, "texts that it was trained on, mean over the splits"),
            Column("n", INT64, "texts of other documents that it was tested on, mean over the splits"),
            Column("classes", INT32, "distinct labels"),
            Column("accuracy", FLOAT32, "share of these whose label it predicts, mean over the splits"),
            Column("std", FLOAT32, "standard deviation over the splits (ddof 1)"),
            *interval("", " (of `accuracy`)", FLOAT32, False),
            Column(
                "difference",
                FLOAT32,
                "accuracy minus that of `default`, mean over the splits; null for `default`",
                True,
            ),
            *interval("difference", kind=FLOAT32),
        ),
        ("model", "label", "features"),
    ),
}
