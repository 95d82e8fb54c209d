"""The top K of every neuron: scoring of shards, their partial files, and the tables that are merged from all shards."""
