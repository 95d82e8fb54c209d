"""Texts of the user's own: the activations of all units, and how unusual they are in the corpus."""
