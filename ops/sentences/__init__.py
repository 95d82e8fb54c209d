"""Annotated sentences: the spaCy pipeline, their codes, the store that mining reads, and mining's view of it."""
