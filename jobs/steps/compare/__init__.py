"""The steps of `compare`: items, files and workers."""
