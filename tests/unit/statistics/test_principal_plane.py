import numpy as np
import pytest

from ops.statistics.principal_plane import principal_plane


def test_the_plane_is_that_of_the_singular_vectors() -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 6)) * [9, 1, 5, 0.1, 0.2, 0.3]
    plane = principal_plane(vectors)
    centred = vectors - vectors.mean(0)
    _, lengths, axes = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(plane.places), np.abs(centred @ axes[:2].T), atol=1e-9)
    np.testing.assert_allclose(plane.shares, (lengths**2 / (lengths**2).sum())[:2])
    np.testing.assert_array_equal(principal_plane(vectors[:, :]).places, plane.places)


@pytest.mark.parametrize("width", [1, 3])
def test_vectors_of_any_width_have_a_plane(width: int) -> None:
    plane = principal_plane(np.arange(5 * width, dtype=np.float32).reshape(5, width))
    assert plane.places.shape == (5, 2)
    assert np.isfinite(plane.places).all()
    assert plane.shares[0] == pytest.approx(1)
    assert principal_plane(np.ones((3, width), np.float32)).shares == (0, 0)
