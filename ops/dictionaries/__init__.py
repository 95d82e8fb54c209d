"""Dictionaries: features of sparse autoencoders and transcoders, directions, and rotated bases as units."""
