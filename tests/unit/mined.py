"""What the miners find in all sentences, or in all trees."""

import numpy as np

from ops.patterns import mine_sequences, mine_subtrees
from ops.patterns.forest import Forest
from ops.patterns.mined import mine_all
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees


def mine(sequences: Sequences, least: int, max_length: int, max_gap: int | None = None) -> tuple[Sequences, np.ndarray]:
    mined = mine_all(mine_sequences.mine_sets, sequences, least, max_length, max_gap)
    return mined.patterns, mined.counts["support"]


def mine_trees(forest: Forest, least: int, max_nodes: int) -> tuple[Subtrees, np.ndarray]:
    n_labels = int(forest.label.max(initial=0)) + 1
    mined = mine_all(mine_subtrees.mine_sets, forest, least, max_nodes, n_labels)
    return Subtrees.from_extensions(mined.patterns, n_labels), mined.counts["support"]
