import torch

from ops.english.weights import embeddings, pack, unpack
from tests.unit.english import small


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
