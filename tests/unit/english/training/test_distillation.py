from dataclasses import replace
from random import Random

import pytest
import torch
from torch.nn.functional import cross_entropy

from ops.english.training.distillation import narrowed, soft_loss
from ops.english.training.model import Architecture
from ops.english.training.training import Trainer
from ops.english.training.treebank import Sentence
from tests.unit.english import small

SIZES = Architecture(12, 8, 2, 1, 0.1)


def batch():
    return small.batcher().batch(small.sentences() * 8)


def scores(network):
    with torch.inference_mode():
        return torch.cat(network(batch()), 1)


def test_units_that_nothing_reads_are_left_out_first():
    teacher = small.network()
    idle = torch.tensor([1, 5, 8 + 0, 8 + 6])
    with torch.no_grad():
        for head in (teacher.tagger, teacher.parser):
            head.weight[:, idle] = 0
        for lstm in teacher.reader.lstms:
            for units, way in zip(idle.split(2), ("", "_reverse"), strict=True):
                lstm.get_parameter(f"weight_hh_l0{way}")[:, units % 8] = 0
        for way in ("", "_reverse"):
            teacher.reader.lstms[1].get_parameter(f"weight_ih_l0{way}")[:, idle] = 0
    student = narrowed(teacher, replace(SIZES, hidden=6), [batch()])
    assert student.reader.hidden == 6
    assert torch.allclose(scores(student), scores(teacher), atol=0.02)


def test_the_soft_loss_is_least_at_the_teachers_own_scores():
    random = torch.Generator().manual_seed(0)
    tags, depths, phrases = (torch.randn(5, size, generator=random) for size in (3, 4, 3))
    scores = [tags, depths, phrases]
    own = soft_loss(scores, scores)
    assert own < soft_loss([tags + torch.randn(5, 3, generator=random), depths, phrases], scores)
    certain = torch.eye(3)[[0, 2, 1, 1, 0]] * 100
    expected = cross_entropy(tags, torch.tensor([0, 2, 1, 1, 0]))
    parts = soft_loss(scores, [certain, depths, phrases]) - own
    entropy = cross_entropy(tags, tags.softmax(1))
    assert parts.item() == pytest.approx((expected - entropy).item(), abs=1e-5)


def test_the_teachers_trees_are_learnt_where_there_are_none():
    torch.manual_seed(0)
    teacher = small.network()
    student = narrowed(teacher, replace(SIZES, hidden=4), [batch()])
    assert torch.equal(student.reader.words.forms[0].weight, teacher.reader.words.forms[0].weight)
    torch.nn.init.normal_(student.parser.bias)
    tagged = [Sentence(sentence.words, sentence.tags) for sentence in small.sentences()]
    counts = {word: 1.0 for sentence in tagged for word in sentence.words}
    settings = {"batch_words": 10, "steps": 200, "rate": 0.03, "sequence_weight": 0.5, "unknown": 0.0}
    trainer = Trainer(student, counts, **settings, teacher=teacher)
    random = Random(0)
    before = distance(student, teacher)
    for _ in range(40):
        trainer.run(tagged, random)
    assert distance(student.eval(), teacher) < before / 2


def distance(student, teacher):
    """Of what the two predict by the parser's heads."""
    with torch.inference_mode():
        mine, theirs = (network(batch())[1:] for network in (student, teacher))
    return sum((a.softmax(1) - b.softmax(1)).square().sum().item() for a, b in zip(mine, theirs, strict=True))
