"""Frequent sequences and subtrees on flat arrays: mining and counting."""
