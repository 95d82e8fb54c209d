"""The steps of `positions`: items, files and workers."""
