"""Results read from the tables of a run, and as text for a terminal: a neuron, a head, a word, what was compared."""
