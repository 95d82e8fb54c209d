"""The kinds of literals. A literal is a yes/no question about a sentence."""

KINDS = ("word", "tag", "subtree", "mark", "value", "length", "topic", "hub")

# Not about language: where a sentence comes from, how long it is, and whether it wins for nearly every neuron.
NUISANCE = frozenset({"value", "length", "hub"})
