"""The language model: loading, tokens, batches, sites, pooling, activations."""
