"""Which token fires: the first winners of every neuron token by token, and the words at which they peak."""
