"""The activations of every neuron's first winners at each token, and the words at which they peak."""
