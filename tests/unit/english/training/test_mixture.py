from random import Random

from ops.english.training.mixture import Mixture
from ops.english.training.treebank import Sentence
from ops.penn import leaves
from tests.unit.english import small

TAGGED = [Sentence(["go"], ["VB"]), Sentence(["the", "dog", "sat"], ["DT", "NN", "UNSEEN"])]


def mixture(own=0.5, variation=0.0):
    return Mixture(
        small.sentences()[:2],
        small.sentences(),
        TAGGED,
        capped_sentences=3,
        variation=variation,
        own_trees=own,
    )


def test_a_pass_reads_the_whole_and_a_draw():
    random = Random(0)
    first, second = (mixture().draw(random) for _ in range(2))
    assert len(first) == 2 + 3 + 2
    assert first[-2:] == TAGGED
    assert [s.words for s in first[2:5]] != [s.words for s in second[2:5]]
    assert mixture().words() == 7 + 15 * 3 // 4 + 4


def test_own_trees_keep_the_words_and_their_tags():
    own = mixture(own=1)
    own.parse(small.network())
    for gold, found in zip(TAGGED, own.draw(Random(0))[-2:], strict=True):
        assert (found.words, found.tags) == (gold.words, gold.tags)
        assert [(leaf.word, leaf.label) for leaf in leaves(found.tree)] == list(zip(gold.words, gold.tags, strict=True))
