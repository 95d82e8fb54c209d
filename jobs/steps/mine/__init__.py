"""The steps of `mine`: items, files and workers."""
