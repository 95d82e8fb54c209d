"""Probes: how well a few units of a layer, rotated axes, the complete layer, or words tell two groups apart.

A probe is a logistic regression that is fitted on four fifths of the documents, and scores the sentences of the last
fifth. Everything that it chooses, units as well as the strength of its L2 penalty, it chooses on the documents that it
is fitted on.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, hstack

from ops.arrays import Bools, Float32s, Float64s, Floats, Int64s
from ops.contrast.groups import Contrast
from ops.meaning.words import split_words
from ops.sampling import CONTRAST_AXES, random_rotation
from ops.shards import spans
from ops.statistics.fold_areas import LEAST_DOCUMENTS

KS = (1, 2, 4, 8, 16, 32)
FOLDS = 5
ROTATIONS = 10
PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)  # values of scikit-learn's C, the inverse of the strength
LEAST_WORD = 5  # training sentences that have a word
_NEWTON_WIDTH = 1_024  # with more columns, the Hessian is too large
_ROUGH, _EXACT = {"newton-cholesky": 1e-3, "lbfgs": 1e-3}, {"newton-cholesky": 1e-8, "lbfgs": 1e-4}  # tolerances
_MOST_STEPS = 1_000
_UNITS_AT_ONCE = 512  # features whose values are in memory as a matrix

Matrix: TypeAlias = Float64s | csr_array


@dataclass(frozen=True)
class Fold:
    """A division of a contrast's sentences by document: those that a probe is fitted on, and those that it scores.

    Attributes:
        train, test: the places of the sentences.
        halves: a division of the training sentences by document into two, as places among these, with which the
            penalty is chosen; empty if a half lacks a group.
    """

    train: Int64s
    test: Int64s
    halves: tuple[tuple[Int64s, Int64s], ...]


def folds_of(contrast: Contrast) -> Iterator[Fold]:
    """Yield the five folds of a contrast, without those that lack a group or in which no area can be measured."""
    is_a, number = contrast.is_a, contrast.folds // 2
    for fold in range(FOLDS):
        train, test = np.flatnonzero(number != fold), np.flatnonzero(number == fold)
        documents = min(len(np.unique(contrast.documents[test[is_a[test] == group]])) for group in (True, False))
        if len(np.unique(is_a[train])) < 2 or documents < LEAST_DOCUMENTS:
            continue
        first, second = (np.flatnonzero(contrast.folds[train] % 2 == half) for half in (0, 1))
        whole = all(len(np.unique(is_a[train[half]])) == 2 for half in (first, second))
        yield Fold(train, test, ((first, second), (second, first)) if whole else ())


@dataclass(frozen=True)
class Scores:
    """What the probes of a basis say of the sentences of a contrast, in documents that they were not fitted on.

    Attributes:
        held_out: the score of each sentence, `[n, probes]`; NaN in folds without a probe. Several rotations are the
            first axis of both arrays.
        inner: the area under the ROC curve within the training documents of each fold, `[folds, probes]`, by which the
            penalty was chosen; NaN if it is not known.
    """

    held_out: Float64s
    inner: Float64s

    @classmethod
    def of(cls, contrast: Contrast, probes: int, fitted: Callable[[Fold], list[tuple[Float64s, float]]]) -> "Scores":
        """Collect scores fold by fold; `fitted` returns the scores and the inner area of each probe in a fold."""
        held_out = np.full((len(contrast.rows), probes), np.nan)
        inner = np.full((FOLDS, probes), np.nan)
        for fold in folds_of(contrast):
            number = int(contrast.folds[fold.test[0]] // 2)
            for probe, (scores, area) in enumerate(fitted(fold)):
                held_out[fold.test, probe], inner[number, probe] = scores, area
        return cls(held_out, inner)


def unit_probes(contrast: Contrast, values: Floats | csr_array, axes: Float32s | None = None) -> Scores:
    """Return the scores of probes on the k best units of a layer, for each of `KS` up to the number of units.

    Args:
        values: the values of the layer's units, `[n, units]`.
        axes: a rotation of the standardised units, `[units, units]`; None for the units themselves.
    """
    ks = [k for k in KS if k <= values.shape[1]]

    def fitted(fold: Fold) -> list[tuple[Float64s, float]]:
        scaled = _standardised(values, fold)
        scaled = scaled if axes is None else scaled.astype(np.float32) @ axes
        distance = np.abs(training_areas(scaled[fold.train], contrast.is_a[fold.train]) - 0.5)
        few = scaled[:, np.argsort(-distance, kind="stable")[: ks[-1]]]
        few = few.toarray() if isinstance(few, csr_array) else few.astype(np.float64)
        return [chosen_scores(few[:, :k], contrast.is_a, fold) for k in ks]

    return Scores.of(contrast, len(ks), fitted)


def rotated_probes(contrast: Contrast, values: Floats, seed: int, layer: int) -> Scores:
    """Return what `unit_probes` returns for ten random rotations of the units, which are the arrays' first axis."""
    draws = [np.random.default_rng([seed, CONTRAST_AXES, layer, number]) for number in range(ROTATIONS)]
    axes = (random_rotation(values.shape[1], random).astype(np.float32) for random in draws)
    several = [unit_probes(contrast, values, turned) for turned in axes]
    return Scores(np.stack([scores.held_out for scores in several]), np.stack([scores.inner for scores in several]))


def layer_probe(contrast: Contrast, values: Floats | csr_array) -> Scores:
    """Return the scores of a probe on all units of a layer."""
    return Scores.of(contrast, 1, lambda fold: [chosen_scores(_standardised(values, fold), contrast.is_a, fold)])


def word_probe(contrast: Contrast, texts: Sequence[str]) -> Scores:
    """Return the scores of a probe on the words of the contrast's sentences, `texts [n]`, their length and data set."""
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer(analyzer=lambda text: split_words(text, "lower") or [""], binary=True, dtype=np.float64)
    has = csr_array(words.fit_transform(texts))
    sets = np.eye(int(contrast.datasets.max()) + 1)[contrast.datasets] if contrast.datasets.any() else None

    def fitted(fold: Fold) -> list[tuple[Float64s, float]]:
        frequent = np.flatnonzero(np.asarray(has[fold.train].sum(0)) >= LEAST_WORD)
        length = np.log(contrast.lengths)[:, None]
        columns = [csr_array(_standardised(length, fold)), *([] if sets is None else [csr_array(sets)])]
        return [chosen_scores(csr_array(hstack([has[:, frequent], *columns], "csr")), contrast.is_a, fold)]

    return Scores.of(contrast, 1, fitted)


def training_areas(values: Floats | csr_array, is_a: Bools) -> Float64s:
    """Return the area under the ROC curve of each unit, `[units]`; ties count half. `values` are `[n, units]`."""
    if isinstance(values, csr_array):
        columns = values.tocsc()
        blocks = (columns[:, first:stop].toarray() for first, stop in spans(values.shape[1], _UNITS_AT_ONCE))
        return np.concatenate([training_areas(block, is_a) for block in blocks])
    own, others = (np.sort(np.ascontiguousarray(values[group].T), axis=1) for group in (is_a, ~is_a))
    # Of each unit, the number of pairs in which the value of the first group is higher or equal, and is higher.
    pairs = [(b.searchsorted(a, "right").sum(), b.searchsorted(a).sum()) for a, b in zip(own, others, strict=True)]
    return np.asarray(np.reshape(pairs, (-1, 2)).mean(1) / (own.shape[1] * others.shape[1]))


def chosen_scores(values: Matrix, is_a: Bools, fold: Fold) -> tuple[Float64s, float]:
    """Return the scores of the test sentences by the penalty that is best within the training documents, and its area.

    `values [n, columns]` are the columns that the probe may use, and `is_a [n]` is the group of each sentence.
    """
    train, group = values[fold.train], is_a[fold.train]
    penalty, area = PENALTIES[len(PENALTIES) // 2], np.nan
    if fold.halves:
        # The order of the scores of a single column does not depend on the penalty.
        penalties = PENALTIES if values.shape[1] > 1 else (penalty,)
        areas = np.zeros(len(penalties))
        for fit, rest in fold.halves:
            scores = fitted_scores(train[fit], group[fit], train[rest], penalties, exact=False)
            areas += training_areas(scores, group[rest]) / len(fold.halves)
        penalty, area = penalties[int(areas.argmax())], float(areas.max())
    return fitted_scores(train, group, values[fold.test], (penalty,))[:, 0], area


def fitted_scores(train: Matrix, is_a: Bools, test: Matrix, penalties: Sequence[float], exact: bool = True) -> Float64s:
    """Return the log odds of group a for test sentences by logistic regressions with these penalties.

    Args:
        train, test: the columns of the training and test sentences, `[n, columns]` and `[m, columns]`.
        is_a: the group of each training sentence, `[n]`.
        penalties: scikit-learn's `C` of each regression.
        exact: whether the fit must converge; a comparison of penalties does not need it.

    Returns:
        The log odds, `[m, penalties]`.
    """
    from sklearn import config_context
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    is_small = not isinstance(train, csr_array) and train.shape[1] <= _NEWTON_WIDTH
    solver = "newton-cholesky" if is_small else "lbfgs"
    model = LogisticRegression(
        solver=solver, tol=(_EXACT if exact else _ROUGH)[solver], max_iter=_MOST_STEPS, warm_start=True
    )
    log_odds = np.empty((test.shape[0], len(penalties)))
    # Checks of parameters would take a third of the time of small fits.
    with warnings.catch_warnings(), config_context(skip_parameter_validation=True, assume_finite=True):
        warnings.simplefilter("ignore", ConvergenceWarning)  # at the largest C of groups that words tell apart fully
        for column, penalty in enumerate(penalties):
            log_odds[:, column] = model.set_params(C=penalty).fit(train, is_a).decision_function(test)
    return log_odds


def _standardised(values: Floats | csr_array, fold: Fold) -> Matrix:
    """Return values with mean 0 and standard deviation 1 in the training documents; sparse ones keep their zeros."""
    train: Any = values[fold.train]
    if isinstance(values, csr_array):
        scale = np.sqrt(np.asarray(train.power(2).mean(0)))
        return csr_array(values.multiply(np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)[None]))
    mean, deviation = train.mean(0, dtype=np.float64), train.std(0, dtype=np.float64)
    return np.asarray((values - mean) * np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0))
