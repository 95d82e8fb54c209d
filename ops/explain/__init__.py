"""What a neuron responds to, in few literals that are scored on held-out documents, next to controls."""
