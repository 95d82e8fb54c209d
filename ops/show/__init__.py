"""Read results from the tables of a run and lay them out for a terminal: a neuron, a head, a word, a comparison."""
