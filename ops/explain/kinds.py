"""The kinds of literals. A literal is a yes/no question about a sentence."""

KINDS = ("word", "tag", "subtree", "mark", "value", "length", "word_class", "hub")

# These kinds are not about language, but about a sentence's source, its length, and whether it wins for nearly every
# neuron.
NUISANCE = frozenset({"value", "length", "hub"})
