"""Results as text for a terminal: one neuron, one attention head."""
