"""The steps of `psi`: items, files and workers."""
