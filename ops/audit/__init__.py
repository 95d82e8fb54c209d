"""Whether what is said of a neuron holds in other data sets than that in which it was found."""
