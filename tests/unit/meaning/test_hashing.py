import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.meaning.hashing import (
    BITS,
    REAL,
    Codes,
    Drawn,
    at_length_1,
    autoencoder_codes,
    labelled,
    measure_codes,
    principal_codes,
    retrieved_classes,
)

RNG = np.random.default_rng(0)


def planted(n: int = 1_200, width: int = 24, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """States about the centres of classes, in a plane of four dimensions, with a little noise everywhere."""
    centres = RNG.normal(size=(classes, 4)) @ RNG.normal(size=(4, width)) * 2
    number = RNG.integers(0, classes, n)
    return (centres[number] + RNG.normal(size=(n, width)) * 0.5).astype(np.float32), number


def test_principal_codes_are_those_of_scikit_learn() -> None:
    from sklearn.decomposition import PCA

    states, _ = planted()
    found = principal_codes(states[:1_000], states[1_000:], 3)
    known = PCA(3, svd_solver="full").fit(states[:1_000].astype(np.float64))
    np.testing.assert_allclose(np.abs(found[REAL].asked), np.abs(known.transform(states[1_000:])), atol=1e-3)
    centred = states[1_000:] - states[:1_000].mean(0)
    rebuilt = known.inverse_transform(known.transform(states[1_000:])) - known.mean_
    assert found[REAL].error == pytest.approx(((centred - rebuilt) ** 2).sum() / (centred**2).sum(), rel=1e-3)
    assert (found[BITS].given == np.sign(found[REAL].given)).all()
    assert found[REAL].error < found[BITS].error < 1
    states, _ = planted()
    errors = [principal_codes(states[:1_000], states[1_000:], size)[REAL].error for size in (1, 2, 4, 24)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-10
    alike = np.ones((5, 4), np.float32)
    for codes in (principal_codes(alike[:3], alike[3:], 2), autoencoder_codes(alike[:3], alike[3:], 2, 1, 0)):
        assert {own.error for own in codes.values()} == {None}, "there is no variance to lose"


def test_an_autoencoder_learns_the_same_codes_each_time_and_about_as_much_as_pca() -> None:
    states, _ = planted(600)
    one, two = (autoencoder_codes(states[:500], states[500:], 4, 30, 1) for _ in range(2))
    assert all((one[kind].asked == two[kind].asked).all() for kind in one)
    known = principal_codes(states[:500], states[500:], 4)
    assert one[REAL].error < 1.3 * known[REAL].error
    assert one[BITS].error < 1
    assert set(np.unique(one[BITS].given)) == {0.0, 1.0}
    other = autoencoder_codes(states[:500], states[500:], 4, 30, 2)
    assert (other[REAL].asked != one[REAL].asked).any()


def test_neighbours_equal_plain_sorting_and_ties_count_their_mean() -> None:
    given, asked = (RNG.normal(size=(n, 3)).astype(np.float32) for n in (80, 30))
    classes = RNG.integers(0, 3, 80)
    found = retrieved_classes(given, asked, classes, 7)
    for i, query in enumerate(asked):
        near = np.argsort(((given - query) ** 2).sum(1))[:7]
        np.testing.assert_allclose(found[i], np.bincount(classes[near], minlength=3) / 7)
    codes = np.array([[0], [0], [0], [1]], np.float32)
    np.testing.assert_allclose(retrieved_classes(codes, codes[:1], np.array([0, 0, 1, 1]), 2), [[2 / 3, 1 / 3]])
    np.testing.assert_allclose(retrieved_classes(codes, codes[:1], np.array([0, 0, 1, 1]), 9), [[0.5, 0.5]])


def test_classes_are_found_where_they_are_and_shuffled_ones_at_chance() -> None:
    states, number = planted(2_000)
    labels = [labelled("topic", [f"t{k}" for k in number]), labelled("none", ["x"] * 2_000)]
    tested = RNG.random(2_000) < 0.3
    drawn = Drawn(np.arange(2_000), np.arange(2_000) // 2, tested, labels)
    whole = Codes(states[~tested], states[tested], 0.0)
    (row,) = measure_codes(whole, drawn, 10)
    assert (row["label"], row["classes"], row["n"]) == ("topic", 4, int(tested.sum()))
    assert row["precision"] > 0.95 > 0.4 > row["chance"]
    held = 0
    for seed in range(20):
        (control,) = measure_codes(whole, drawn.shuffled(seed), 10)
        held += control["low"] < control["chance"] < control["high"]
    assert held >= 17  # of 19 expected
    (two,) = measure_codes(principal_codes(states[~tested], states[tested], 4)[BITS], drawn, 10)
    assert row["chance"] < two["precision"] <= row["precision"]


def test_rare_classes_and_sentences_without_one_are_left_out() -> None:
    found = labelled("c", ["b"] * 20 + ["a"] * 25 + ["rare"] * 19 + [None])
    assert found.classes == ["a", "b"]
    assert found.number[[0, 20, 45, 64]].tolist() == [1, 0, -1, -1]
    assert np.linalg.norm(at_length_1(np.array([[3, 4], [0, 0]], np.float32)), axis=1).tolist() == [1, 0]


def test_of_many_held_out_sentences_those_asked_about_are_spread_over_the_corpus() -> None:
    n = 6_000
    number = (np.arange(n) >= n // 2).astype(np.int64)  # the first half of the corpus is of one class
    tested = np.arange(n) % 2 == 1
    states = RNG.normal(size=(n, 3)).astype(np.float32) + number[:, None]
    drawn = Drawn(np.arange(n), np.arange(n), tested, [labelled("half", [f"c{k}" for k in number])])
    (row,) = measure_codes(Codes(states[~tested], states[tested], 0.0), drawn, 10)
    assert row["n"] == 2_000
    assert row["chance"] == pytest.approx(0.5, abs=0.01)


@given(
    n=st.integers(1, 12), asked=st.integers(1, 6), width=st.integers(1, 6), size=st.integers(1, 6), alike=st.booleans()
)
def test_codes_of_few_or_equal_states_are_finite(n: int, asked: int, width: int, size: int, alike: bool) -> None:
    rng = np.random.default_rng([n, asked, width])
    values = np.ones((n + asked, width)) if alike else rng.normal(size=(n + asked, width))
    states = at_length_1(values.astype(np.float32))
    for codes in principal_codes(states[:n], states[n:], min(size, width)).values():
        assert np.isfinite(codes.given).all()
        assert np.isfinite(codes.asked).all()
        assert codes.error is None or np.isfinite(codes.error)


def test_queries_of_one_document_have_no_interval() -> None:
    states, number = planted(60, 4, 2)
    names = [label[i] for i in number for label in ["ab"]]
    tested = np.arange(60) < 10
    codes = Codes(states[~tested], states[tested], 0.0)
    (row,) = measure_codes(codes, Drawn(np.arange(60), np.where(tested, 0, 1), tested, [labelled("t", names)]), 3)
    assert (row["low"], row["high"]) == (None, None)
    assert 0 <= row["precision"] <= 1
