"""The steps of `topk`: items, files and workers."""
