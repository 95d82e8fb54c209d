"""The steps of `tokens`: items, files and workers."""
