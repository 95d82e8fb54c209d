import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.english.labelling import best_labels, common_names, first_places
from ops.english.labels import encode
from ops.english.training.batches import IGNORED
from ops.english.viterbi import CHANGES, DEPTHS
from tests.unit.english import small


def test_certain_scores_give_the_gold_labels():
    gold = small.sentences()
    labels = small.labels()
    batch = small.batcher().batch(gold)
    widths = [CHANGES, DEPTHS, len(labels.phrases), len(labels.unaries)]
    blocks = [np.zeros((len(batch.kinds), width), np.float32) for width in widths]
    for block, target in zip(blocks, batch.targets[1:].numpy(), strict=True):
        known = np.flatnonzero(target != IGNORED)
        block[known, target[known]] = 9
    found = best_labels(np.hstack(blocks), batch.lengths, labels.phrases, labels.unaries)
    assert found == [encode(sentence.tree) for sentence in gold]


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(0, 2**32))
def test_names_are_those_of_the_greatest_sums(depths, seed):
    owners = first_places(np.array(depths, np.int64))
    for place, owner in enumerate(owners):
        same = [i for i in range(place + 1) if depths[i] and depths[i] == min(depths[i : place + 1]) == depths[place]]
        assert owner == min(same, default=place)
    scores = np.random.default_rng(seed).integers(0, 4, (len(depths), 3)).astype(np.float32)
    expected = [scores[owners == owner].sum(0).argmax() for owner in owners]
    assert common_names(scores, owners).tolist() == expected
