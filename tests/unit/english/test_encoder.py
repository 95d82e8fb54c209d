import numpy as np
import pytest
import spacy
import torch
from spacy.tokens import Doc

from ops.english.encoder import embeddings, english_reader, pack, set_reader, unpack
from tests.unit.english import small


@pytest.fixture
def vocab():
    return spacy.blank("en").vocab


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


def test_a_reader_comes_back_with_little_lost():
    reader = small.network().reader
    again = unpack(pack(reader))
    assert again.inventory.kept == reader.inventory.kept
    for name, tensor in reader.state_dict().items():
        other = again.state_dict()[name]
        assert other.dtype == torch.float32
        tolerance = tensor.abs().max() / 200 if name in embeddings(reader) else tensor.abs().max() / 1000
        assert (tensor - other).abs().max() <= tolerance, name
    assert pack(unpack(pack(again))) == pack(again)
