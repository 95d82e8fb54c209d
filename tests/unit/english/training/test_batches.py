from random import Random

import numpy as np

from ops.english.labelling import LOWEST_CHANGE
from ops.english.training.batches import IGNORED
from ops.english.training.treebank import Sentence
from tests.unit.english import small


def test_targets_of_a_sentence():
    labels = small.labels()
    batch = small.batcher().batch(small.sentences()[:1])
    tags, changes, depths, phrases, unaries = batch.targets.tolist()
    assert [labels.tags[tag] for tag in tags] == ["DT", "NN", "VBD", "RB", "."]
    assert [change + LOWEST_CHANGE for change in changes[:-1]] == [2, -1, 1, -1]
    assert [depth + 1 for depth in depths[:-1]] == [3, 2, 3, 2]
    assert [labels.phrases[phrase] for phrase in phrases[:-1]] == ["NP", "S", "VP", "S"]
    assert [labels.unaries[chain] for chain in unaries] == ["", "", "", "ADVP", ""]
    assert changes[-1] == depths[-1] == phrases[-1] == IGNORED


def test_what_is_unknown_is_ignored():
    batch = small.batcher().batch([Sentence(["a", "b"], ["NN", "NEVER SEEN"])])
    assert batch.targets[0, 1] == IGNORED
    assert (batch.targets[1:] == IGNORED).all()
    assert batch.parsed == [False]


def test_each_sentence_is_in_one_batch():
    sentences = small.sentences() * 5
    batches = list(small.batcher().batches(sentences, 10, Random(0)))
    assert sum(len(batch.lengths) for batch in batches) == len(sentences)
    assert len(batches) > 5
    for batch in batches:
        assert sum(batch.lengths) == len(batch.kinds) == batch.targets.shape[1]
        assert np.array_equal(np.unique(batch.kinds), np.arange(len(batch.rows)))
    runs = [[b.lengths for b in small.batcher().batches(sentences, 10, Random(seed))] for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]
