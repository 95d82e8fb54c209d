"""The engine: the only importer of Ray. It spreads items over workers, the same on a laptop and on a cluster."""
