"""The file that `respond --to` writes, which is not part of a run."""

from ops.schema.columns import FLOAT32, INT32, NEURON, STRING, Column, TableSpec

RESPONSES = TableSpec(
    "a unit's response to a text",
    (
        Column("number", INT32, "the text's number in the order given, counted from 1"),
        Column("text", STRING, "the text, cleaned as the corpus was"),
        *NEURON,
        Column("activation", FLOAT32, "pooled activation"),
        Column("z", FLOAT32, "distance from the corpus's mean in standard deviations; null for a silent unit", True),
        Column("tail", FLOAT32, "share of the corpus at least as far out, both ends together", True),
        Column("tail_like", FLOAT32, "the same among sentences of about its length; null if there are too few", True),
        Column("pole", STRING, "end of the distribution at which `tail` is; null where `tail` is", True),
        Column("rank", INT32, "rank that it would have among the winners of this pole; null if none", True),
    ),
    ("number", "layer", "unit"),
)
