"""Annotated sentences: the spaCy pipeline, their codes, and the store that mining reads."""
