"""The top K of every neuron: scoring a shard, its partial file, the tables that all shards together make."""
