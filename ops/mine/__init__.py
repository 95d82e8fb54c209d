"""What a neuron's winners have in common, against the baseline."""
