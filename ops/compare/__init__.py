"""Comparing neurons with each other, layers, and models."""
