from itertools import product

import pytest
import torch

from ops.english.labelling import CHANGES, COLUMNS, DEPTHS
from ops.english.training.training import depth_sequence_loss, loss
from tests.unit.english import small


def test_depth_sequences_are_scored_against_all_others():
    batch = small.batcher().batch(small.sentences()[1:3] + small.sentences()[:1])
    torch.manual_seed(0)
    words = len(batch.kinds)
    change, absolute = torch.randn(words, CHANGES), torch.randn(words, DEPTHS)
    absolute[:, 4:] = -1e4
    expected, start = 0.0, 0
    for length in batch.lengths:
        scores = []
        for depths in product(range(4), repeat=length - 1):
            path = [0, *depths]
            scores.append(
                sum(
                    (
                        absolute[start + i, path[i + 1]]
                        + change[start + i, COLUMNS[path[i + 1] - path[i] + DEPTHS - 1]]
                    ).item()
                    for i in range(length - 1)
                )
            )
        own = batch.targets[:, start : start + length - 1]
        gold = sum((change[start + i, own[1, i]] + absolute[start + i, own[2, i]]).item() for i in range(length - 1))
        expected += torch.tensor(scores).logsumexp(0).item() - gold if scores else 0
        start += length
    assert depth_sequence_loss(change, absolute, batch).item() == pytest.approx(expected, rel=1e-4)


def test_without_trees_the_tags_alone_count():
    gold = [type(s)(s.words, s.tags) for s in small.sentences()]
    network, batch = small.network(), small.batcher().batch(gold)
    scores = network(batch)
    found = loss(scores, batch, 0.5)
    expected = torch.nn.functional.cross_entropy(scores[0], batch.targets[0])
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
