"""Whether a finding about a neuron holds in other data sets than the one in which it was found."""
