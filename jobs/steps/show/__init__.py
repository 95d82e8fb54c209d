"""What `show` reads of a run: a neuron, a head or a position, a word, what was compared."""
