import numpy as np
import pytest
from scipy.stats import kurtosis, ortho_group, skew

from ops.compare.layer_agreement import basis_agreement, unit_properties
from ops.sampling import random_rotation

RNG = np.random.default_rng(0)
SENTENCES, UNITS = 400, 24


def test_a_rotation_is_one_and_covers_all_directions() -> None:
    turns = np.stack([random_rotation(3, np.random.default_rng(i)) for i in range(400)])
    np.testing.assert_allclose(turns[0] @ turns[0].T, np.eye(3), atol=1e-12)
    expected = ortho_group.rvs(3, 4_000, random_state=1)
    assert turns[:, 0, 0].mean() == pytest.approx(expected[:, 0, 0].mean(), abs=0.06)
    assert turns[:, 0, 0].std() == pytest.approx(expected[:, 0, 0].std(), abs=0.03)


def test_unit_properties_are_scipy_s_and_those_of_sorted_sentences() -> None:
    values, features = RNG.normal(size=(SENTENCES, 5)) ** 3, RNG.integers(1, 30, (SENTENCES, 2)).astype(float)
    found = unit_properties(values, ["means:words_per_sentence", "x"], features)
    np.testing.assert_allclose(found["neurons:skew"], skew(values), rtol=1e-9)
    np.testing.assert_allclose(found["neurons:kurtosis"], kurtosis(values), rtol=1e-9)
    for unit in range(5):
        order = np.argsort(-values[:, unit])[:20]
        assert found["means:words_per_sentence:top"][unit] == pytest.approx(features[order, 0].mean())
        order = np.argsort(values[:, unit])[:20]
        assert found["x:bottom"][unit] == pytest.approx(features[order, 1].mean())


def test_sentences_that_tie_share_the_last_places() -> None:
    values, features = np.zeros((SENTENCES, 1)), np.zeros((SENTENCES, 1))
    values[:4], features[:4] = 1.0, 8.0
    features[4:103] = 2.0
    found = unit_properties(values, ["x"], features)
    # Of 20 winners 4 are above the tie; 396 sentences share the other 16 places, and 99 of these have a 2.
    assert found["x:top"][0] == pytest.approx((4 * 8 + 16 * 0.25 * 2) / 20)
    assert found["x:bottom"][0] == pytest.approx(0.25 * 2)


def test_a_property_of_units_fades_under_rotation_and_what_the_stream_carries_does_not() -> None:
    """Units of large spread in both layers: any other axis mixes all units, and is much like the next."""
    units, sentences = 200, 100
    spread = np.where(np.arange(units) % 2, 4.0, 1.0)
    own = [spread * RNG.normal(size=(sentences, units)) for _ in range(2)]
    words = RNG.integers(1, 30, (sentences, 1)).astype(float)

    def agreement(layers: list[np.ndarray], name: str) -> float:
        table = basis_agreement(layers, ["means:words_per_sentence"], words).to_pylist()
        return next(row["correlation"] for row in table if row["property"] == name)

    turned = []
    for _ in range(9):
        q = random_rotation(units, RNG)
        turned.append(agreement([layer @ q for layer in own], "neurons:std"))
    # Units that are left out do not count.
    (row,) = (
        row
        for row in basis_agreement(own, ["x"], words, [np.arange(units) % 2 == i for i in (1, 1)]).to_pylist()
        if row["property"] == "neurons:std"
    )
    kept = [layer[:, ::2].std(0) for layer in own]
    assert row["correlation"] == pytest.approx(np.corrcoef(*kept)[0, 1])
    assert agreement(own, "neurons:std") > 0.9 > 0.7 > max(turned)
    # Two layers of the same content: any axis has the same winners in both.
    shared = [own[0], 3 * own[0] + 0.1 * RNG.normal(size=own[0].shape)]
    q = random_rotation(units, RNG)
    assert agreement([layer @ q for layer in shared], "means:words_per_sentence:top") > 0.8
