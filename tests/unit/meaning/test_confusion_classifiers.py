from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_score

from ops.meaning.confusion import (
    FOLDS,
    PENALTIES,
    USUAL_PENALTY,
    answer,
    choose_penalty,
    folds_of,
    standardised,
)

RNG = np.random.default_rng(8)
DOCUMENTS = RNG.integers(0, 2**63, 60).astype(np.uint64)


def test_documents_stay_together_and_folds_are_seeded() -> None:
    documents = RNG.choice(DOCUMENTS, 900)
    folds = folds_of(documents, 0)
    assert set(folds.tolist()) == set(range(FOLDS))
    for document in DOCUMENTS:
        assert len(set(folds[documents == document].tolist())) <= 1
    assert (folds_of(documents, 1) != folds).any()
    np.testing.assert_array_equal(folds_of(documents, 0), folds)


@pytest.mark.parametrize(("sparse", "told"), [(False, 0.3), (True, 3.0)])
def test_the_penalty_is_that_of_the_lowest_loss_in_cross_validation(sparse: bool, told: float) -> None:
    labels = RNG.integers(0, 3, 300)
    given: Any = RNG.normal(size=(300, 20)) + told * np.eye(20)[labels]
    if sparse:
        given = sp.csr_matrix(np.where(given > 1, given, 0))
    folds = folds_of(RNG.choice(DOCUMENTS, 300), 0)
    split = PredefinedSplit(folds)
    loss = [
        -cross_val_score(LogisticRegression(C=c, tol=1e-3), given, labels, cv=split, scoring="neg_log_loss").mean()
        for c in PENALTIES
    ]
    assert choose_penalty(given, labels, folds) == PENALTIES[int(np.argmin(loss))]


def test_what_tells_documents_alone_is_not_trusted_and_one_fold_or_label_gives_the_usual_penalty() -> None:
    """Each document has one label and its own unit: only folds by document show that this is no help."""
    document = np.repeat(np.arange(30), 10)
    labels = RNG.integers(0, 2, 30)[document]
    given = np.eye(30)[document] * 5 + RNG.normal(size=(300, 30)) * 0.1
    assert choose_penalty(given, labels, document % FOLDS) == min(PENALTIES)
    assert choose_penalty(given, labels, np.arange(300) % FOLDS) == max(PENALTIES)
    assert choose_penalty(given, labels, np.zeros(300, np.int64)) == USUAL_PENALTY
    assert choose_penalty(given, np.zeros(300, np.int64), document % FOLDS) == USUAL_PENALTY


def test_features_that_no_example_has_change_nothing() -> None:
    labels = RNG.integers(0, 2, 80)
    given = np.zeros((80, 500))
    given[:, :6] = RNG.normal(size=(80, 6)) + labels[:, None]
    asked = RNG.normal(size=(50, 500))
    expected = LogisticRegression(C=0.1, tol=1e-3).fit(given, labels).predict(asked)
    found, converged = answer(sp.csr_matrix(given), labels, sp.csr_matrix(asked), 0.1)
    np.testing.assert_array_equal(found, expected)
    assert converged
    np.testing.assert_array_equal(answer(given, labels, asked, 0.1)[0], expected)
    assert answer(given, np.ones(80, np.int64), asked, 0.1)[0].tolist() == [1] * 50


def test_states_are_standardised_by_the_training_s() -> None:
    given, asked = standardised(RNG.normal(3, 2, (200, 4)).astype(np.float32), np.full((2, 4), 3, np.float32))
    np.testing.assert_allclose(given.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(given.std(0), 1, atol=1e-5)
    np.testing.assert_allclose(asked, 0, atol=0.3)
    assert np.isfinite(standardised(np.ones((3, 2), np.float32), np.ones((3, 2), np.float32))[0]).all()
