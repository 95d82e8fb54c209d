"""The tables of the job tokens: which token fires."""

import pyarrow as pa

from ops.schema.columns import FLOAT32, FLOAT64, INT32, INT64, NEURON, POLE, STRING, STRINGS, Column, TableSpec

_TOKENS = (
    Column("tokens", STRINGS, "the model's tokens, as its vocabulary writes them"),
    Column("starts", pa.list_(INT32), "where each begins in `sentences.text`, in characters; null: added"),
    Column("ends", pa.list_(INT32), "where each ends, exclusive; null for tokens that the tokenizer added"),
    Column("activations", pa.list_(FLOAT32), "the neuron's activation at each token"),
)

TABLES: dict[str, TableSpec] = {
    "token_activations": TableSpec(
        "one of a neuron's first winners, token by token",
        (
            *NEURON,
            POLE,
            Column("rank", INT32, "rank among the neuron's winners, counted from 1"),
            Column("sent_id", INT64, "sentence"),
            *_TOKENS,
        ),
        ("layer", "unit", "pole", "rank"),
        2_048,
    ),
    "negative_tokens": TableSpec(
        "a hard negative of a neuron, token by token",
        (
            *NEURON,
            Column("pole", STRING, "the pole whose winners it resembles"),
            Column("rank", INT32, "by the explanation's score, counted from 1"),
            Column("sent_id", INT64, "sentence"),
            *_TOKENS,
        ),
        ("layer", "unit", "pole", "rank"),
        2_048,
    ),
    "peaks": TableSpec(
        "a word or tag at which a neuron's first winners peak",
        (
            *NEURON,
            POLE,
            Column("property", STRING, "`peak_word` or `peak_tag`"),
            Column("value", STRING, "the word as written, or its Penn tag"),
            Column("count", INT64, "winners that peak there"),
            Column("n", INT64, "winners that peak at a word (with a tag)"),
            Column("share", FLOAT32, "count over n"),
            Column("baseline_share", FLOAT32, "share that is expected: its mean share of a sentence's words"),
            Column("lift", FLOAT32, "share over baseline share, smoothed"),
            Column("g2", FLOAT32, "log-likelihood ratio, negative where the share is below the baseline's"),
            Column("design_effect", FLOAT32, "what weakens p: 1 or more; null: of one document, so that p is 1", True),
            Column("p_value", FLOAT32, "chance of a count as far from what is expected, given that it is not 0"),
            Column("q_value", FLOAT64, "false discovery rate within neuron, pole and property"),
            Column("rank", INT32, "rank by g2 within neuron, pole and property, counted from 1"),
        ),
        ("layer", "unit", "pole", "property", "rank"),
    ),
}
