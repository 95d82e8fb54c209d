"""A network of a few weights, for tests."""

import torch

from ops.english.training.batches import Batcher, Labels, collect_labels
from ops.english.training.model import Architecture, JointNetwork
from ops.english.training.treebank import Sentence, sentence_of_tree
from ops.english.words import FEATURES, Inventory, collect_inventory
from ops.penn import read

LINES = (
    "(ROOT (S (NP (DT The) (NN dog)) (VP (VBD sat) (ADVP (RB down))) (. .)))",
    "(ROOT (S (NP (PRP I)) (VP (VBP sleep))))",
    "(ROOT (INTJ (UH hello)))",
    "(ROOT (S (NP (NP (DT a) (NN cat)) (PP (IN on) (NP (DT the) (NN mat)))) (VP (VBD sat)) (. !)))",
)


def sentences() -> list[Sentence]:
    """Four sentences with trees."""
    return [sentence_of_tree(read(line)) for line in LINES]


def inventory() -> Inventory:
    """Every form of the sentences."""
    return collect_inventory(
        {word: 1 for sentence in sentences() for word in sentence.words}, dict.fromkeys(FEATURES, 1)
    )


def labels() -> Labels:
    """Every label of the sentences."""
    return collect_labels(sentences(), [], 1)


def network(layers: int = 2) -> JointNetwork:
    """Random weights, the same each time."""
    torch.manual_seed(0)
    return JointNetwork(inventory(), labels(), Architecture(12, 8, layers, 1, 0.1)).eval()


def batcher() -> Batcher:
    """With every form and label of the sentences."""
    return Batcher(inventory(), labels())
