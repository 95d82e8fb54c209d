"""Docstrings of installed Python packages as a source of text."""
