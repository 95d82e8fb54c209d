import numpy as np

from ops.explain.rotation import rotated, shuffled

RNG = np.random.default_rng(0)
N, WIDTH = 2_500, 24
VALUES = (RNG.normal(size=(N, WIDTH)) * RNG.uniform(0.1, 30, WIDTH) + 5).astype(np.float32)


def test_a_rotation_keeps_distances_of_the_centred_activations() -> None:
    turned = rotated(VALUES, 3, 1, 0, WIDTH).astype(float)
    centred = VALUES.astype(float) - VALUES.mean(0, dtype=float)
    np.testing.assert_allclose(turned.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(turned[:50] @ turned[:50].T, centred[:50] @ centred[:50].T, rtol=1e-4, atol=1e-2)
    rotation = np.linalg.lstsq(centred, turned, rcond=None)[0]
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(WIDTH), atol=1e-5)
    # No axis is a unit.
    assert np.abs(rotation).max() < 0.95


def test_axes_of_a_block_are_those_of_the_whole() -> None:
    whole = rotated(VALUES, 3, 1, 0, WIDTH)
    parts = [rotated(VALUES, 3, 1, first, first + 8) for first in range(0, WIDTH, 8)]
    np.testing.assert_allclose(np.concatenate(parts, 1), whole, rtol=1e-6, atol=1e-6)
    assert whole.dtype == np.float32


def test_each_layer_and_seed_has_its_own_rotation_and_order() -> None:
    for control in (lambda layer, seed: rotated(VALUES, layer, seed, 0, 4), lambda *given: shuffled(VALUES, *given)):
        first = control(1, 0)
        np.testing.assert_array_equal(first, control(1, 0))
        assert not np.allclose(first, control(2, 0))
        assert not np.allclose(first, control(1, 1))


def test_shuffled_sentences_keep_their_rows() -> None:
    values = shuffled(VALUES, 2, 0)
    assert (values != VALUES).any(1).mean() > 0.99
    order = np.lexsort(values.T)
    np.testing.assert_array_equal(values[order], VALUES[np.lexsort(VALUES.T)])
    # A block of units has the same order as all of them.
    np.testing.assert_array_equal(shuffled(VALUES[:, 3:7], 2, 0), values[:, 3:7])
