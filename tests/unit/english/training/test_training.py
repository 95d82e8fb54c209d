from operator import eq
from random import Random

import torch

from ops.english.training.training import Trainer
from tests.unit.english import small


def trainer(network, **changes):
    settings = {"batch_words": 10, "steps": 200, "rate": 0.02, "sequence_weight": 0.5, "unknown": 0.0} | changes
    return Trainer(
        network,
        {word: 1.0 for sentence in small.sentences() for word in sentence.words},
        **settings,
    )


def test_training_learns_the_sentences():
    torch.manual_seed(0)
    network = small.network(1)
    training = trainer(network)
    random = Random(0)
    losses = [training.run(small.sentences(), random) for _ in range(60)]
    assert losses[-1] < losses[0] / 2
    parsed = training.average.parse(small.sentences())
    assert [sentence.words for sentence in parsed] == [sentence.words for sentence in small.sentences()]
    tags = [tag for sentence in small.sentences() for tag in sentence.tags]
    found = [tag for sentence in parsed for tag in sentence.tags]
    assert sum(map(eq, tags, found)) > len(tags) / 2


def test_the_average_follows_the_weights():
    network = small.network()
    training = trainer(network, steps=1)
    first = [weight.detach().clone() for weight in network.parameters()]
    training.run(small.sentences(), Random(0))
    assert training._optimizer.param_groups[0]["lr"] <= 1e-5, "the rate of the last step is small"
    for others in (first, network.parameters()):
        assert not all(torch.equal(a, b) for a, b in zip(training.average.parameters(), others, strict=True))
