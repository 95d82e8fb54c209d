import torch

from tests.unit.english import small


def test_a_sentence_is_read_alike_alone_and_beside_others():
    lengths = [3, 1, 9, 5]
    for layers in (1, 2):
        reader = small.network(layers).reader
        vectors = torch.randn(sum(lengths), reader.width)
        with torch.inference_mode():
            together = reader(vectors, lengths).split(lengths)
            alone = [reader(own, [len(own)]) for own in vectors.split(lengths)]
        for one, other in zip(together, alone, strict=True):
            assert torch.allclose(one, other, atol=1e-5)


def test_every_word_sees_its_whole_sentence_and_no_other():
    reader = small.network().reader
    vectors = torch.randn(8, reader.width)
    changed = vectors.clone()
    changed[0] += 1
    with torch.inference_mode():
        moved = (reader(vectors, [5, 3]) - reader(changed, [5, 3])).abs().amax(1) > 0
    assert moved.tolist() == [True] * 5 + [False] * 3
    reader.train()
    assert not torch.equal(reader(vectors, [5, 3]), reader(vectors, [5, 3])), "training leaves values out"
