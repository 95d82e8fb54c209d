"""The steps of `meaning`: items, files and workers."""
