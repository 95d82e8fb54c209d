"""The tables of the job tokens: the tokens at which a neuron fires."""

import pyarrow as pa

from ops.schema.columns import FLOAT32, FLOAT64, INT32, INT64, NEURON, POLE, STRING, STRINGS, Column, TableSpec

_TOKENS = (
    Column("tokens", STRINGS, "the model's tokens, as its vocabulary writes them"),
    Column(
        "starts",
        pa.list_(INT32),
        "where each token begins in `sentences.text`, in characters; null if the tokenizer added it",
    ),
    Column("ends", pa.list_(INT32), "where each token ends, exclusive; null if the tokenizer added it"),
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
            Column("rank", INT32, "rank by the explanation's score, counted from 1"),
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
            Column("n", INT64, "winners that peak at a word (tags: at a word with a tag)"),
            Column("share", FLOAT32, "`count` divided by `n`"),
            Column("baseline_share", FLOAT32, "share expected by chance: its mean share of a sentence's words"),
            Column("lift", FLOAT32, "`share` divided by `baseline_share`, smoothed"),
            Column("g2", FLOAT32, "log-likelihood ratio; negative if the share is below the baseline's"),
            Column(
                "design_effect",
                FLOAT32,
                "at least 1; weakens p; null, and p is 1, if all comes from one document",
                True,
            ),
            Column(
                "p_value",
                FLOAT32,
                "probability of a count at least this far from the expected one, given that it is not 0",
            ),
            Column("q_value", FLOAT64, "false discovery rate within neuron, pole and property"),
            Column("rank", INT32, "rank by g2 within neuron, pole and property, counted from 1"),
        ),
        ("layer", "unit", "pole", "property", "rank"),
    ),
}
