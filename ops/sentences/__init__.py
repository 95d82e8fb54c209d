"""Annotated sentences: the spaCy pipeline, integer codes, the store that mining reads, and mining's view of it."""
