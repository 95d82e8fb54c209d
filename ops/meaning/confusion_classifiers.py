"""Classifiers that choose among confused words: logistic regressions, each with its own penalty, and their accuracy."""

import warnings
from typing import Any

import numpy as np

from ops.arrays import Float32s, Int64s, UInt64s
from ops.hashing import mix
from ops.meaning.confusion import Examples, is_tested
from ops.sampling import CONFUSION_DOCUMENTS, CONFUSION_FOLDS, CONFUSION_LABELS
from ops.statistics.resampling import percentile_interval, resample

SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
LEAST_TRAINED, LEAST_TESTED = 20, 20  # minimum numbers of occurrences
MOST_TESTED = 2_000
MOST_CHOSEN_BY = 10_000  # maximum number of training examples used to choose a penalty
_FEATURES = 1 << 18  # of words, by their hashes
# Values of scikit-learn's C, the inverse of the penalty's strength. Sparse words need a weaker penalty than dense
# states.
PENALTIES = (0.01, 0.1, 1.0, 10.0)
USUAL_PENALTY = 0.1  # used if there are too few documents to choose one
FOLDS = 3
_MOST_STEPS = 100
_LEAST = 1e-9  # minimum probability of the right label in a loss


def measure_set(name: str, examples: Examples, seed: int) -> list[dict[str, Any]]:
    """Return the rows of `meaning/confusion` of a set, with a further column `converged`.

    There are no rows if a set has too few examples, or examples of only one word.

    All classifiers are tested on the same occurrences: the occurrences in held-out documents that have states.
    `majority` always answers with the most frequent word. `words` and `layer:N` are logistic regressions, each with the
    penalty that cross-validation by document chooses on its own training examples. `shuffled` is the control: the
    classifier `words` with the labels in random order, in training and in testing. A regression that did not converge
    is a weaker classifier, but not an error.
    """
    from sklearn.feature_extraction import FeatureHasher

    label, tested = examples.label, is_tested(examples.document)
    tests = np.flatnonzero(tested & examples.has_state)[:MOST_TESTED]
    train = np.flatnonzero(~tested)
    if len(train) < LEAST_TRAINED or len(tests) < LEAST_TESTED or len(np.unique(label[train])) < 2:
        return []
    truth = label[tests]
    scores, folds = AnswerScores(examples.document[tests], seed), folds_of(examples.document, seed)
    rows: list[dict[str, Any]] = []

    def add(
        features: str, n: int, answers: Int64s, converged: bool, penalty: float | None, truth: Int64s = truth
    ) -> None:
        row = {"set": name, "features": features, "n": n, "c": penalty, "converged": converged}
        rows.append(row | scores.columns(answers, truth))

    hasher = FeatureHasher(_FEATURES, input_type="string", alternate_sign=False)
    matrix, sizes = hasher.transform(examples.words).tocsr(), sizes_of(len(train))
    penalties: dict[int, float] = {}
    for n in sizes:
        some, chosen_by = train[:n], train[: min(n, MOST_CHOSEN_BY)]
        if len(chosen_by) not in penalties:
            penalties[len(chosen_by)] = choose_penalty(matrix[chosen_by], label[chosen_by], folds[chosen_by])
        penalty = penalties[len(chosen_by)]
        add("majority", n, np.full(len(truth), np.bincount(label[some]).argmax()), True, None)
        add("words", n, *answer(matrix[some], label[some], matrix[tests], penalty), penalty)
    rng = np.random.default_rng([seed, CONFUSION_LABELS])
    answers = answer(matrix[train], rng.permutation(label[train]), matrix[tests], penalty)
    add("shuffled", sizes[-1], *answers, penalty, rng.permutation(truth))
    stated = train[examples.has_state[train]]
    if len(stated) < LEAST_TRAINED:
        return rows
    place = np.cumsum(examples.has_state) - 1
    for layer in range(examples.states.shape[1]):
        states = examples.states[:, layer]
        for n in sizes_of(len(stated)):
            some = stated[:n]
            given, asked = standardised(states[place[some]], states[place[tests]])
            penalty = choose_penalty(given, label[some], folds[some])
            add(f"layer:{layer + 1}", n, *answer(given, label[some], asked, penalty), penalty)
    return rows


def sizes_of(available: int) -> list[int]:
    """Return the numbers of training examples to use: the available sizes in `SIZES`, and the number of all examples.

    >>> sizes_of(450)
    [100, 300, 450]
    """
    return [n for n in SIZES if n < available] + [available]


def from_which_layer(rows: list[dict[str, Any]], layers: int, alike: bool = False) -> int | None:
    """Return the first layer from which on every layer's state is more accurate than the words; None if there is none.

    Each is compared with all its training examples, of which the words have more than the states, or, if `alike`, at
    the largest number of training examples that both share.
    """
    sizes = [{row["n"] for row in rows if row["features"] == name} for name in ("words", "layer:1")]
    shared = max(sizes[0] & sizes[1], default=0)
    # Sizes ascend, so the accuracy at the largest size is kept.
    best = {row["features"]: row["accuracy"] for row in rows if not alike or row["n"] == shared}
    beats = [best.get(f"layer:{i + 1}", 0.0) > best.get("words", 1.0) for i in range(layers)]
    lost = [i for i, won in enumerate(beats) if not won]
    first = (lost[-1] + 1 if lost else 0) + 1
    return first if first <= layers else None


class AnswerScores:
    """Scores several classifiers' answers to the same examples, with the same resamples of the examples' documents.

    `documents [examples]` uint64 are the numbers of the examples' documents; there must be at least one example.
    """

    def __init__(self, documents: UInt64s, seed: int) -> None:
        distinct, self.document = np.unique(documents, return_inverse=True)
        self.documents = len(distinct)
        self.times = resample(self.documents, np.random.default_rng([seed, CONFUSION_DOCUMENTS]))

    def columns(self, answers: Int64s, truth: Int64s) -> dict[str, Any]:
        """Return the columns of `meaning/confusion` that measure the accuracy of the answers.

        For balanced accuracy, the share of correctly answered examples is computed for each word and then averaged over
        the words. Words that do not occur among the examples, or in a resample, are excluded from the mean.

        `answers` are the labels that were chosen for the examples, and `truth` the correct ones, `[examples]` each.
        """
        labels, word = np.unique(truth, return_inverse=True)
        cell, shape = self.document * len(labels) + word, (self.documents, len(labels))
        examples = np.bincount(cell, minlength=self.documents * len(labels)).astype(np.float64).reshape(shape)
        right = np.bincount(cell, answers == truth, self.documents * len(labels)).reshape(shape)
        drawn_examples, drawn_right = np.split(self.times @ np.concatenate([examples, right], 1), 2, 1)
        occurs = drawn_examples > 0
        shares = drawn_right / np.where(occurs, drawn_examples, 1)
        accuracy, balanced = drawn_right.sum(1) / drawn_examples.sum(1), shares.sum(1) / occurs.sum(1)
        return {
            "n_test": len(truth), "documents": self.documents, "correct": int(right.sum()),
            **percentile_interval(accuracy, self.documents).columns("accuracy", ""),
            **percentile_interval(balanced, self.documents).columns("balanced_accuracy", "balanced"),
        }  # fmt: skip


def folds_of(documents: UInt64s, seed: int) -> Int64s:
    """Return the fold of each example, given the number of its document, `[examples]` uint64."""
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

    If the examples have only one label, that label is the answer.
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=penalty, max_iter=_MOST_STEPS, tol=1e-3).fit(given[:, features], labels)
    return model, features, bool(model.n_iter_.max() < _MOST_STEPS)


def standardised(given: Float32s, asked: Float32s) -> tuple[Float32s, Float32s]:
    """Standardise training and test states with each unit's mean and standard deviation over the training states."""
    mean, std = given.mean(0), given.std(0)
    std = np.where(std > 0, std, 1)
    return (given - mean) / std, (asked - mean) / std
