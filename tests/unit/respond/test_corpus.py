import numpy as np

from ops.respond.corpus import FARTHEST, LEAST, MOST, Sample


def test_the_nearest_in_length_are_taken_and_none_that_is_too_far() -> None:
    rng = np.random.default_rng(0)
    ids = np.sort(rng.choice(90_000, 6_000, replace=False))
    lengths = rng.integers(3, 60, 6_000)
    sample = Sample(ids, lengths)
    for tokens, own in ((12, -1), (12, int(ids[40])), (31, -1), (4, -1), (58, -1)):
        ranked = sorted((abs(int(n) - tokens), int(i)) for i, n in zip(ids, lengths, strict=True) if i != own)
        expected = [i for distance, i in ranked if distance <= FARTHEST * tokens][:MOST]
        found = sample.nearest(tokens, own)
        assert ids[found].tolist() == sorted(expected)
        assert len(found) > LEAST


def test_too_few_sentences_are_no_reference() -> None:
    lengths = np.array([10] * (LEAST - 1) + [30] * LEAST)
    sample = Sample(np.arange(len(lengths)), lengths)
    assert len(sample.nearest(10)) == 0
    assert len(sample.nearest(30)) == LEAST
    assert len(sample.nearest(30, own=LEAST)) == 0, "without itself, one is missing"
