"""What a sentence may have that a neuron responds to: finding it, and putting it into words."""
