"""Logistic regressions that choose among confused words, each with its own penalty."""

import warnings
from typing import Any

import numpy as np

from ops.arrays import Float32s, Int64s, UInt64s
from ops.hashing import mix
from ops.sampling import CONFUSION_FOLDS

# Values of scikit-learn's C, the inverse of the penalty's strength. Sparse words need a weaker penalty than dense
# states.
PENALTIES = (0.01, 0.1, 1.0, 10.0)
USUAL_PENALTY = 0.1  # used if there are too few documents to choose one
FOLDS = 3
_LEAST = 1e-9  # minimum probability of the right label in a loss


def folds_of(documents: UInt64s, seed: int) -> Int64s:
    """Return the fold of each example, `[examples]`; all examples of a document are in one fold.

    Args:
        documents: the number of each example's document, `[examples]` uint64.
        seed: the run's seed.
    """
    salt = np.random.default_rng([seed, CONFUSION_FOLDS]).integers(0, 2**64, dtype=np.uint64)
    return (mix(documents ^ salt) % np.uint64(FOLDS)).astype(np.int64)


def choose_penalty(given: Any, labels: Int64s, folds: Int64s) -> float:
    """Return the penalty of `PENALTIES` with the lowest loss in cross-validation; for ties, the strongest penalty.

    The loss is the negative log probability of the correct label, which is more informative than accuracy on few
    examples. A fold is skipped if the other folds have only one label.

    Args:
        given: the features, `[examples, features]`, dense or sparse.
        labels: the label of each example, `[examples]`.
        folds: the fold of each example, `[examples]`.
    """
    splits = [(folds != fold, folds == fold) for fold in np.unique(folds)]
    splits = [(own, rest) for own, rest in splits if len(np.unique(labels[own])) > 1]
    if not splits:
        return USUAL_PENALTY
    loss = [sum(_loss(given, labels, own, rest, penalty) for own, rest in splits) for penalty in PENALTIES]
    return PENALTIES[int(np.argmin(loss))]


def _loss(given: Any, labels: Int64s, own: Any, rest: Any, penalty: float) -> float:
    """Return the summed loss on the examples `rest` of a classifier that is trained on the examples `own`."""
    model, features, _ = _trained(given[own], labels[own], penalty)
    known = np.searchsorted(model.classes_, labels[rest]).clip(max=len(model.classes_) - 1)
    found = model.predict_proba(given[rest][:, features])[np.arange(len(known)), known]
    found = np.where(model.classes_[known] == labels[rest], found, 0)
    return float(-np.log(np.maximum(found, _LEAST)).sum())


def answer(given: Any, labels: Int64s, asked: Any, penalty: float) -> tuple[Int64s, bool]:
    """Return the answers of a logistic regression trained on examples, `[asked]`, and whether its training converged.

    If the examples have only one label, that label is the answer. All warnings of scikit-learn except the one about
    convergence are passed on.
    """
    if len(np.unique(labels)) < 2:
        return np.full(asked.shape[0], labels[0]), True
    model, features, converged = _trained(given, labels, penalty)
    return np.asarray(model.predict(asked[:, features])), converged


def _trained(given: Any, labels: Int64s, penalty: float) -> tuple[Any, Any, bool]:
    """Return a trained classifier, the indices of the features that it uses, and whether its training converged."""
    from scipy.sparse import issparse
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    # A feature that no training example has would get no weight. Dropping it gives the same classifier faster.
    features = np.unique(given.indices) if issparse(given) else slice(None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = LogisticRegression(C=penalty, max_iter=100, tol=1e-3).fit(given[:, features], labels)
    others = [warning for warning in caught if not issubclass(warning.category, ConvergenceWarning)]
    for warning in others:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return model, features, len(others) == len(caught)


def standardised(given: Float32s, asked: Float32s) -> tuple[Float32s, Float32s]:
    """Standardise training and test states with each unit's mean and standard deviation over the training states."""
    mean, std = given.mean(0), given.std(0)
    std = np.where(std > 0, std, 1)
    return (given - mean) / std, (asked - mean) / std
