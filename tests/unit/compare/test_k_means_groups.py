import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import silhouette_score

from ops.compare.neuron_groups import MAX_SILHOUETTE, MOST_TRAITS, grouping_quality, project, trait_rows
from ops.statistics.association import signed_g2

RNG = np.random.default_rng(0)
GROUPS, EACH, SENTENCES = 4, 15, 80


def planted() -> tuple[np.ndarray, np.ndarray]:
    """Activations `[sentences, neurons]` whose neurons follow one of four signals, and which one."""
    truth = np.repeat(np.arange(GROUPS), EACH)
    signals = RNG.normal(size=(SENTENCES, GROUPS))
    order = RNG.permutation(len(truth))
    return (signals[:, truth] + 0.2 * RNG.normal(size=(SENTENCES, len(truth))))[:, order], truth[order]


VALUES, TRUTH = planted()


def test_quality_is_scikit_learn_s_and_is_lost_by_shuffling() -> None:
    found = grouping_quality(VALUES.T, GROUPS, [0, 1, 2])
    assert found[0] == pytest.approx(silhouette_score(VALUES.T, TRUTH), abs=1e-9)
    assert found[1] == 1
    null = grouping_quality(RNG.permuted(VALUES, axis=0).T, GROUPS, [0, 1, 2])
    assert found[0] is not None
    assert null[0] is not None
    assert null[0] < 0.1 < 0.5 < found[0]
    assert null[1] < 0.5
    assert grouping_quality(np.ones((5, 3)), 2, [0, 1])[0] is None


def test_a_planted_trait_comes_first() -> None:
    owner, names = [], []
    for neuron, of in enumerate(TRUTH):
        chosen = ["common", *(["of two"] if of == 2 else []), *(["rare"] if neuron % 9 == 0 else [])]
        owner += [neuron] * len(chosen)
        names += chosen
    traits = pa.table({"pole": ["top"] * len(names), "kind": ["word"] * len(names), "trait": names})
    rows = trait_rows(1, np.array(owner), traits, TRUTH.astype(np.int32)).to_pylist()
    (first,) = (row for row in rows if (row["group"], row["rank"]) == (2, 1))
    assert (first["trait"], first["count"], first["n"]) == ("of two", 15, 15)
    assert (first["share"], first["other_share"]) == (1, 0)
    assert first["g2"] == pytest.approx(float(signed_g2(15, 15, 0, 45)), rel=1e-6)
    assert first["q_value"] < 1e-6
    assert all(row["trait"] != "common" for row in rows)
    assert all(row["g2"] > 0 and row["rank"] <= MOST_TRAITS for row in rows)


@pytest.mark.parametrize(("points", "dimensions"), [(1, 2), (3, 2), (4, 2), (20, 2), (4, 1), (20, 1)])
def test_points_few_alike_or_of_one_dimension_have_places_too(points: int, dimensions: int) -> None:
    for given in (np.ones((points, dimensions)), RNG.normal(size=(points, dimensions))):
        places = project(given, 0)
        assert places.shape == (points, 2)
        assert np.isfinite(places).all()


def test_a_group_that_the_sample_misses_has_no_silhouette() -> None:
    points = np.zeros((MAX_SILHOUETTE * 30, 1))
    points[-1] = 1
    assert grouping_quality(points, 2, [0])[0] is None
    points[MAX_SILHOUETTE * 15 :] = 1
    assert grouping_quality(points, 2, [0])[0] == pytest.approx(1)
