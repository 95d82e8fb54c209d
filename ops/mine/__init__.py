"""What a neuron's winners have in common, against the baseline: patterns, profiles, means and held-out areas."""
