from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.english.labelling import (
    CHANGES,
    COLUMNS,
    DEPTHS,
    LOWEST_CHANGE,
    best_depths,
    best_labels,
    common_names,
    first_places,
)
from ops.english.labels import encode
from ops.english.training.batches import IGNORED
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


def test_steps_name_the_change_of_depth():
    for change in (-2, 0, 2):
        assert COLUMNS[change + DEPTHS - 1] + LOWEST_CHANGE == change
    assert COLUMNS[0] == 0
    assert COLUMNS[-1] == CHANGES - 1


def scores(seed, words):
    random = np.random.default_rng(seed)
    return random.normal(size=(words, DEPTHS)).astype(np.float32), random.normal(size=(words, CHANGES)).astype(
        np.float32
    )


def value(absolute, change, depths):
    total, before = 0.0, 1
    for place, depth in enumerate(depths):
        total += absolute[place, depth - 1] + change[place, COLUMNS[depth - before + DEPTHS - 1]]
        before = depth
    return total


@given(st.integers(0, 2**32), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_no_other_depths_score_higher(seed, lengths):
    absolute, change = scores(seed, sum(lengths))
    absolute[:, 5:] = -1e6
    start = 0
    together = best_depths(absolute, change, np.cumsum(lengths))
    for length in lengths:
        *found, after = together[start : start + length].tolist()
        assert after == 0
        own = absolute[start:], change[start:]
        best = max(value(*own, depths) for depths in product(range(1, 6), repeat=length - 1))
        assert value(*own, found) == pytest.approx(best, abs=1e-4)
        start += length


def test_of_equal_sums_the_lowest_depths_are_taken():
    found = best_depths(np.zeros((4, DEPTHS), np.float32), np.zeros((4, CHANGES), np.float32), np.array([4]))
    assert found.tolist() == [1, 1, 1, 0]
