"""Reads bracketed trees as a forest."""

from collections.abc import Iterable

import numpy as np

from ops.patterns.forest import Forest
from ops.patterns.sequences import Sequences
from ops.penn import read_labels_and_sizes


def read_forest(texts: Iterable[str]) -> tuple[Forest, list[str]]:
    """Return the forest of bracketed strings, and its labels in the order of their codes, sorted by name.

    An empty string becomes an empty tree.

    >>> forest, labels = read_forest(["(ROOT (S (NP (PRP I)) (VP (VBP sleep)) (. .)))"])
    >>> [labels[code] for code in forest.label], forest.size.tolist()
    (['ROOT', 'S', 'NP', 'PRP', 'VP', 'VBP'], [6, 5, 2, 1, 2, 1])
    """
    trees = [read_labels_and_sizes(text) for text in texts]
    names = sorted({label for labels, _ in trees for label in labels})
    labels = Sequences.from_lists([[names.index(label) for label in own] for own, _ in trees])
    sizes = np.array([size for _, own in trees for size in own], np.int32)
    return Forest(labels.items, sizes, labels.offsets), names
