"""The sources of text: a module for each format, whose reader yields rows."""
