"""Comparisons of neurons, of layers, of runs and of models."""
