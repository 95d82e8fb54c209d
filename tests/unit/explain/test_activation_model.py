from collections.abc import Iterable

import numpy as np
import pytest

from ops.explain.activation_model import (
    LEAST_DOCUMENTS,
    LEAST_SENTENCES,
    ActivationFitter,
    ActivationModels,
    held_back_sentences,
)
from ops.literals.literal import NEAR
from tests.unit.explain.score_cards_by_hand import matrix

SEED = 3


class Corpus:
    """Sentences of documents, with literals drawn at random; the first `nuisance` ones are nuisance."""

    def __init__(self, seed: int, n: int = 400, literals: int = 40, nuisance: int = 4, per_document: int = 4) -> None:
        self.rng = np.random.default_rng(seed)
        self.document = self.rng.permutation(np.arange(n) // per_document).astype(np.int64)
        documents = n // per_document
        self.held_out = (self.rng.permutation(documents) < documents // 2)[self.document]
        rate = self.rng.uniform(0.05, 0.5, literals)
        self.matrix = self.rng.random((literals, n)) < rate[:, None]
        self.nuisance = np.arange(literals) < nuisance

    @property
    def n(self) -> int:
        return len(self.document)

    def noise(self, units: int = 1) -> np.ndarray:
        return self.rng.normal(size=(self.n, units))

    def fitter(self, **given: np.ndarray | int) -> ActivationFitter:
        return ActivationFitter(matrix(self.matrix.T), self.nuisance, self.held_out, self.document, SEED, **given)

    def fit(self, values: np.ndarray, most: int = 8, **given: int) -> ActivationModels:
        return self.fitter(**given).fit(np.asarray(values, np.float32), most)


def jaccard(a: np.ndarray, b: np.ndarray) -> float:
    return float((a & b).sum() / max((a | b).sum(), 1))


def residual(y: np.ndarray, columns: Iterable[np.ndarray], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What least squares on some rows leaves of `y` in all rows, and the weights."""
    design = np.column_stack([np.ones(len(y)), *columns])
    weights = np.linalg.lstsq(design[rows], y[rows], rcond=None)[0]
    return y - design @ weights, weights


def kept_nuisance(corpus: Corpus, x: np.ndarray, which: Iterable[int], rows: np.ndarray) -> list[int]:
    kept: list[int] = []
    for literal in which:
        left, _ = residual(x[literal], x[kept], rows)
        if (left[rows] ** 2).sum() > 0.01 * rows.sum() * x[literal][rows].var():
            kept.append(literal)
    return kept


def by_brute_force(
    corpus: Corpus, y: np.ndarray, most: int
) -> tuple[list[int], list[float], list[float], float, float]:
    """Literals, weights, gains, R2 and R2 of nuisance by forward selection with a least-squares fit for each choice."""
    x, held_out, document = corpus.matrix.astype(float), corpus.held_out, corpus.document
    training, held_back = ~held_out, held_back_sentences(document, held_out, SEED)
    fit = training & ~held_back
    support, own = corpus.matrix[:, fit].sum(1), corpus.matrix[:, training]
    common = (support >= LEAST_SENTENCES) & (fit.sum() - support >= LEAST_SENTENCES)
    usable = [i for i in np.flatnonzero(corpus.nuisance) if common[i]]
    first = kept_nuisance(corpus, x, usable, fit)
    candidates = []
    for i in np.flatnonzero(~corpus.nuisance & common):
        documents = len(set(document[fit & corpus.matrix[i]]))
        copies = any(jaccard(own[i], own[j]) >= NEAR for j in np.flatnonzero(corpus.nuisance))
        if documents >= LEAST_DOCUMENTS and not copies:
            candidates.append(i)
    chosen: list[int] = []
    error = (residual(y, x[first], fit)[0][held_back] ** 2).sum()
    while len(chosen) < most:
        errors = {}
        for i in candidates:
            left = residual(x[i], x[first + chosen], fit)[0]
            if (left[fit] ** 2).sum() > 0.01 * fit.sum() * x[i][fit].var():
                errors[i] = (residual(y, x[[*first, *chosen, i]], fit)[0][fit] ** 2).sum()
        if not errors:
            break
        best = min(errors, key=lambda i: errors[i])
        after = (residual(y, x[[*first, *chosen, best]], fit)[0][held_back] ** 2).sum()
        if after >= error:
            break
        error = after
        chosen.append(best)
        candidates = [i for i in candidates if jaccard(own[i], own[best]) < NEAR]
    last = kept_nuisance(corpus, x, usable, training)
    total = ((y[held_out] - y[held_out].mean()) ** 2).sum()

    def score(literals: list[int]) -> float:
        return 1 - float((residual(y, x[[*last, *literals]], training)[0][held_out] ** 2).sum()) / total

    weights = residual(y, x[[*last, *chosen]], training)[1]
    gains = [score(chosen) - score([j for j in chosen if j != i]) for i in chosen]
    return chosen, list(weights[len(weights) - len(chosen) :]), gains, score(chosen), score([])


@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_brute_force(seed: int) -> None:
    corpus = Corpus(seed)
    m = corpus.matrix
    m[10] = m[11] | (corpus.rng.random(corpus.n) < 0.01)  # near-copies
    m[12] = m[1] & (corpus.rng.random(corpus.n) < 0.97)  # a near-copy of nuisance
    m[3] = m[1] ^ m[2]
    m[13] = m[14] & m[15]
    m[16] = np.isin(corpus.document, corpus.document[:2])  # two documents
    m[17] = ~m[2]
    # Overlapping literals: what a choice leaves of the others matters.
    m[20:34] = (corpus.rng.random(corpus.n) < 0.4) ^ (corpus.rng.random((14, corpus.n)) < 0.2)
    m[34] = (m[20] & m[21]) | m[1]
    weights = corpus.rng.normal(size=(len(m), 5)) * (corpus.rng.random((len(m), 5)) < 0.2)
    values = (m.T @ weights + corpus.noise(5)).astype(np.float32)
    models = corpus.fit(values)
    assert models.count.max() > 2
    for unit, y in enumerate(values.T.astype(float)):
        chosen, weight, gains, r2, r2_nuisance = by_brute_force(corpus, y, 8)
        count = models.count[unit]
        assert models.literals[unit, :count].tolist() == chosen
        assert (models.literals[unit, count:] == -1).all()
        assert np.isnan(models.weights[unit, count:]).all()
        np.testing.assert_allclose(models.weights[unit, :count], weight, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(models.gains[unit, :count], gains, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(models.r2[unit], r2, rtol=1e-9)
        np.testing.assert_allclose(models.r2_nuisance[unit], r2_nuisance, rtol=1e-9)


def test_noise_and_shuffled_activations_are_not_explained() -> None:
    corpus = Corpus(1, n=2_000, literals=1_000, nuisance=10)
    planted = 3 * corpus.matrix[20][:, None] + corpus.noise(200)
    for values in (corpus.noise(200), corpus.rng.permutation(planted)):
        models = corpus.fit(values)
        assert models.r2.mean() < 0
        assert (models.r2 > 0.02).mean() < 0.05
        assert models.count.mean() < 1


def test_the_plainest_of_near_copies_is_shown_and_never_two_of_them() -> None:
    corpus = Corpus(2, n=1_000)
    m = corpus.matrix
    for copy in (21, 22, 23):
        m[copy] = m[20] ^ (corpus.rng.random(corpus.n) < 0.003)
    values = (2.0 * m[20] + m[21] + 0.2 * corpus.noise()[:, 0]).astype(np.float32)[:, None]
    plainness = np.where(np.arange(len(m)) == 22, 0, 1 + np.arange(len(m)))
    plain = corpus.fitter(plainness=plainness)
    chosen = plain.fit(values, 8)
    assert chosen.literals[0, 0] == 22
    assert plain.near_copies(22).tolist() == [20, 21, 23]
    as_given = corpus.fitter()
    assert as_given.fit(values, 8).literals[0, 0] in (20, 21)
    for models in (chosen, as_given.fit(values, 8)):
        assert len(set(models.literals[0]) & {20, 21, 22, 23}) == 1


def test_a_unit_has_the_same_model_in_any_block() -> None:
    corpus = Corpus(5)
    values = (corpus.matrix.T @ corpus.rng.normal(size=(40, 150)) + corpus.noise(150)).astype(np.float32)
    fitter = corpus.fitter()
    whole = fitter.fit(values, 4)
    for first, stop in ((0, 1), (1, 80), (80, 150)):
        part = fitter.fit(values[:, first:stop], 4)
        np.testing.assert_array_equal(part.literals, whole.literals[first:stop])
        for name in ("weights", "gains", "r2", "r2_low", "r2_high", "r2_nuisance"):
            np.testing.assert_allclose(getattr(part, name), getattr(whole, name)[first:stop], rtol=1e-9, atol=1e-12)


def test_the_interval_is_that_of_documents_drawn_with_replacement() -> None:
    corpus = Corpus(6, n=2_000, per_document=20)
    values = 2.0 * corpus.matrix[20][:, None] + corpus.rng.normal(size=(100, 1))[corpus.document] + corpus.noise()
    models = corpus.fit(values, most=1, resamples=4_000)
    y = values[:, 0].astype(np.float32).astype(float)
    nuisance = np.flatnonzero(corpus.nuisance)
    left = residual(y, corpus.matrix[[*nuisance, models.literals[0, 0]]].astype(float), ~corpus.held_out)[0]
    rng, scores = np.random.default_rng(0), []
    rows_of = [np.flatnonzero(corpus.document == d) for d in np.unique(corpus.document[corpus.held_out])]
    for _ in range(4_000):
        rows = np.concatenate([rows_of[d] for d in rng.integers(len(rows_of), size=len(rows_of))])
        scores.append(1 - (left[rows] ** 2).sum() / ((y[rows] - y[rows].mean()) ** 2).sum())
    ends = (models.r2_low[0], models.r2_high[0])
    np.testing.assert_allclose(ends, np.percentile(scores, (2.5, 97.5)), atol=0.01)


def test_constant_units_have_no_model() -> None:
    corpus = Corpus(8)
    half = corpus.noise()[:, 0]
    ends = (np.where(corpus.held_out, *pair) for pair in ((half, 7), (7, half)))
    models = corpus.fit(np.stack([np.full(corpus.n, 0.1), np.zeros(corpus.n), *ends], 1))
    assert models.count[:3].tolist() == [0, 0, 0]
    assert np.isnan([models.r2, models.r2_low, models.r2_nuisance])[:, [0, 1, 3]].all()
    assert models.r2[2] < 0


@pytest.mark.parametrize(("n", "literals"), [(0, 0), (0, 5), (1, 5), (400, 0)])
def test_nothing_to_fit(n: int, literals: int) -> None:
    corpus = Corpus(12)
    has, nuisance = corpus.matrix[:literals, :n], corpus.nuisance[:literals]
    values = corpus.noise(3)[:n].astype(np.float32)
    models = ActivationFitter(matrix(has.T), nuisance, corpus.held_out[:n], corpus.document[:n], SEED).fit(values, 8)
    assert models.count.tolist() == [0, 0, 0]
    assert models.literals.shape == (3, 8)
    assert np.isnan(models.r2).all() == (n < 400)
