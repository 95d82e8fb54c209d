"""Conversion of rows to distinct, numbered sentences."""
