"""The steps of `ingest`: items, files and workers."""
