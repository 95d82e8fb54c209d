"""The file that `respond --to` writes, which is not part of a run."""

from ops.schema.columns import NEURON, tables

RESPONSES = tables(f"""
table responses by number, layer, unit: a unit's response to a text
    number int32: the text's number in the order given, counted from 1
    text string: the text, cleaned as the corpus was
    {NEURON}
    activation float32: pooled activation
    z float32?: distance from the corpus's mean in standard deviations; null for a silent unit
    tail float32?: share of the corpus at least as far out, both ends together
    tail_like float32?: the same among sentences of about its length; null if there are too few
    pole string?: end of the distribution at which `tail` is; null where `tail` is
    rank int32?: rank that it would have among the winners of this pole; null if none
""")["responses"]
