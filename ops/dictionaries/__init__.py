"""Dictionaries, whose features are used as units: sparse autoencoders, transcoders, directions and rotated bases."""
