import numpy as np
import pytest
import spacy
import torch
from spacy.tokens import Doc

from ops.english.encoder import WordVectorCache, english_reader, set_reader
from tests.unit.english import small


@pytest.fixture
def vocab():
    return spacy.blank("en").vocab


def vectors(cache, reader, vocab, words):
    keys = np.array([vocab.strings.add(word) for word in words], np.uint64)
    with torch.inference_mode():
        return cache.vectors(reader, keys, vocab.strings)


def expected(reader, words):
    with torch.inference_mode():
        return reader.words(torch.from_numpy(reader.inventory.rows(words)))


@pytest.mark.parametrize("cache", [WordVectorCache(), WordVectorCache(most_words=3)], ids=["large", "soon full"])
def test_words_have_the_reader_s_vectors_whatever_was_met_before(vocab, cache):
    reader = small.network().reader
    for words in (["a", "b", "a"], ["b", "never-seen", "d"], ["a", "b", "c", "d", "e"]):
        assert torch.allclose(vectors(cache, reader, vocab, words), expected(reader, words), atol=1e-6)


def test_another_reader_has_vectors_of_its_own(vocab):
    cache, first = WordVectorCache(), small.network().reader
    second = small.network().reader
    with torch.no_grad():
        second.words.mix.linear.weight.mul_(-1)
    vectors(cache, first, vocab, ["dog"])
    assert torch.allclose(vectors(cache, second, vocab, ["dog"]), expected(second, ["dog"]), atol=1e-6)


def test_white_space_is_marked_and_not_read(vocab):
    model = english_reader(8)
    set_reader(model, small.network().reader)
    with_space, without, empty = model.predict(
        [Doc(vocab, words=["the", " ", "dog"]), Doc(vocab, words=["the", "dog"]), Doc(vocab)]
    )
    assert with_space.shape == (3, 17)
    assert empty.shape == (0, 17)
    assert with_space[:, -1].tolist() == [0, 1, 0]
    assert not with_space[1, :-1].any()
    assert np.allclose(with_space[[0, 2]], without, atol=1e-6)
    assert model.predict([]) == []
    assert model.predict([Doc(vocab, words=[" "])])[0][:, -1].tolist() == [1]
