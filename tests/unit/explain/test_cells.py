import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from ops.explain.cells import Cells, fit_cells
from tests.unit.labelled_sentences import occurrences


@given(st.integers(1, 5), st.integers(0, 2**16), st.sampled_from([1.0, 30.0, 800.0]))
def test_the_fit_is_that_of_expanded_rows(literals: int, seed: int, each: float) -> None:
    rng = np.random.default_rng(seed)
    has = rng.random((400, literals)) < rng.uniform(0.02, 0.6, literals)
    winner = rng.random(400) < 1 / (1 + np.exp(1.5 - has @ rng.normal(0, 2, literals)))
    winner[:2] = [True, False]
    cells = Cells.by(occurrences(has), np.arange(literals), 400)
    other, own = cells.counts(winner.astype(np.uint8), 2).T
    fit = fit_cells(cells.has, own * 1.0, each * other, each / 2)
    rows = np.concatenate([has, np.eye(literals, dtype=bool)])
    truth = np.concatenate([winner, np.zeros(literals, bool)])
    weight = np.concatenate([np.where(winner, 1.0, each), np.full(literals, each / 2)])
    known = LogisticRegression(C=25.0, solver="newton-cholesky", tol=1e-10, max_iter=1_000)
    known.fit(rows, truth, sample_weight=weight)
    np.testing.assert_allclose(fit.weights, known.coef_[0], rtol=1e-4, atol=1e-4)
    assert fit.intercept == pytest.approx(known.intercept_[0], rel=1e-4, abs=1e-4)
    chance = fit.chances(rows)
    likelihood = (weight * np.log(np.where(truth, chance, 1 - chance))).sum() - (fit.weights**2).sum() / 50
    assert fit.log_likelihood == pytest.approx(likelihood, rel=1e-9)


@pytest.mark.parametrize("start", [None, [0.0, 30.0], [-20.0, -15.0]])
def test_weights_stay_finite_and_do_not_depend_on_the_start(start: list[float] | None) -> None:
    """The literal is in 40 of 100 winners, and in none or all of a sample that represents 80 million others."""
    has = np.array([[False], [True]])
    given_start = None if start is None else np.array(start)
    fit = fit_cells(has, np.array([60.0, 40.0]), np.array([8e7, 0.0]), 400.0, given_start)
    assert fit.chances(has)[1] == pytest.approx(40 / 440, rel=0.02)
    never = fit_cells(has, np.array([100.0, 0.0]), np.array([4e7, 4e7]), 400.0, given_start)
    assert -12 < never.weights[0] < -5
    assert fit_cells(has, np.array([100.0, 0.0]), np.array([9.0, 4.0]), 0.5).weights[0] > -12
