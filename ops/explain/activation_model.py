"""A linear model of an activation over its whole range, from nuisance and a few literals, scored on held-out documents.

Nuisance literals (length, data set, metadata, hubs) are fitted jointly and first. Language literals follow one at a
time: each is the one that lowers the squared error most (orthogonal least squares, Chen, Billings and Luo 1989). They
are chosen on three quarters of the training documents, until the next one does not help on the held-back quarter. The
model is then refitted on all training documents and scored on those of the test half.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array

from ops import sampling
from ops.arrays import Bools, Float32s, Float64s, Int32s, Int64s
from ops.literals.incidence import count_by_fold, having
from ops.literals.literal import NEAR
from ops.statistics.resampling import percentile_interval, resample

HELD_BACK = 0.25  # share of the training documents
LEAST_SENTENCES, LEAST_DOCUMENTS = 10, 3  # in which a literal must occur, among those on which literals are chosen
LEAST_TEST_DOCUMENTS = 10  # required for an interval
_CACHE_BYTES = 400_000_000  # for cached literals that several units choose
# A column counts as a combination of others if they leave less than this share of its variance.
LEAST_LEFT = 0.01
_ROUNDING = 1e-12  # share of the squares below which float32 values count as constant


@dataclass(frozen=True)
class ActivationModels:
    """The model of each unit, and its scores on the test half of the documents.

    Attributes:
        literals: the indices of the language literals in the order of choice, `[units, most]` int32; -1 for none.
        weights: what each literal adds to the activation, `[units, most]`; NaN if there is no literal.
        gains: the R2 on the test half that is lost without each literal, with the others refitted, `[units, most]`.
        count: number of language literals, `[units]` int32.
        r2: 1 - SSE / SST, with SST around the mean of the test half, `[units]`; NaN if the unit is constant there.
        r2_low, r2_high: ends of the 95 % interval of `r2`, by a bootstrap over documents; NaN if the test half has
            fewer than 10 documents.
        r2_nuisance: the R2 of the nuisance literals alone, `[units]`.
    """

    literals: Int32s
    weights: Float64s
    gains: Float64s
    count: Int32s
    r2: Float64s
    r2_low: Float64s
    r2_high: Float64s
    r2_nuisance: Float64s


def held_back_sentences(document: Int64s, held_out: Bools, seed: int) -> Bools:
    """Return which sentences are in the quarter of the training documents that stops the choice of literals, `[n]`."""
    training = np.unique(document[~held_out])
    rng = np.random.default_rng([seed, sampling.HELD_BACK])
    size = max(round(HELD_BACK * len(training)), min(1, len(training) - 1))
    return np.isin(document, rng.permutation(training)[:size])


@dataclass(frozen=True)
class _Column:
    """A candidate without its nuisance part, on the sentences on which literals are chosen.

    Attributes:
        products: its inner products with all candidates, `[candidates]`.
        values: its values on the training sentences, `[n_training]`.
        copies: the language literals that are near-copies of it, including itself, ascending.
        rivals: those near-copies that are candidates, as indices among the candidates.
    """

    products: Float32s
    values: Float64s
    copies: Int64s
    rivals: Int64s


class ActivationFitter:
    """Fits the models of blocks of units to the same sentences and literals.

    Args:
        matrix: which of the n sentences have each literal, `[literals, n]`.
        nuisance: which literals are nuisance, `[literals]`.
        held_out: which sentences are in the test half, `[n]`.
        document: a code of each sentence's document, `[n]`.
        seed: the seed of the draw of held-back documents and of the bootstrap.
        resamples: number of bootstrap samples.
        plainness: the plainness of each literal, `[literals]`; the lowest is the plainest. A chosen literal is replaced
            by the plainest of its near-copies. If None, no literal is replaced.

    Attributes:
        candidates: the language literals that models may have, `[literals]` bool. They are neither too rare nor too
            common, are no near-copies of a nuisance literal, and are not almost a combination of nuisance literals.
        n_train, n_test: number of sentences in each half.
    """

    def __init__(
        self,
        matrix: csr_array,
        nuisance: Bools,
        held_out: Bools,
        document: Int64s,
        seed: int,
        resamples: int = 200,
        plainness: Int64s | None = None,
    ) -> None:
        n, literals = len(held_out), len(nuisance)
        if len(document) != n or matrix.shape != (literals, n):
            raise ValueError(f"activation model: a matrix of {matrix.shape}, but {literals} literals and {n} sentences")
        held_back = held_back_sentences(document, held_out, seed)
        fit, back = np.flatnonzero(~held_out & ~held_back), np.flatnonzero(~held_out & held_back)
        test = np.flatnonzero(held_out)
        test = test[np.argsort(document[test], kind="stable")]
        self._order = np.concatenate([fit, back, test])
        self._fit, self.n_train, self.n_test = len(fit), len(fit) + len(back), len(test)
        self._plainness = plainness
        self._matrix = matrix[:, self._order].astype(np.float64)
        self._fitted = self._matrix[:, : self._fit]
        self._by_sentence = self._matrix[:, : self.n_train].T.tocsr()
        self._support = self._together(np.arange(self.n_train))
        self._language = ~nuisance
        self.candidates = np.zeros(literals, bool)
        if self._fit:
            self._prepare(nuisance, document[self._order])
        changes = np.flatnonzero(np.diff(document[test])) + 1
        self._documents = np.concatenate([np.zeros(min(1, len(test)), np.int64), changes])
        sizes = np.diff(np.append(self._documents, len(test))).astype(np.float64)
        self._times: Float64s | None = None
        if len(sizes) >= LEAST_TEST_DOCUMENTS:
            rng = np.random.default_rng([seed, sampling.RANGE_RESAMPLES])
            self._times = resample(len(sizes), rng, resamples)
            self._drawn_sizes = self._times @ sizes
        held = max(1, _CACHE_BYTES // (4 * literals + 8 * self.n_train + 1))
        self._column = lru_cache(held)(self._make_column)

    def _prepare(self, nuisance: Bools, document: Int64s) -> None:
        """Build the nuisance bases, and find the language literals that models may have."""
        support = self._fitted.sum(1)
        common = (support >= LEAST_SENTENCES) & (self._fit - support >= LEAST_SENTENCES)
        columns = self._matrix[nuisance & common].toarray().T
        self._basis = orthonormal_basis(columns, self._fit)
        self._training_basis = orthonormal_basis(columns, self.n_train)
        parts = (self._fitted @ self._basis[: self._fit]).T
        squares = support - (parts**2).sum(0)
        variance = support * (1 - support / self._fit)
        _, codes = np.unique(document[: self._fit], return_inverse=True)
        # A literal from only one or two documents says more about these documents than about language.
        of_document = csr_array((np.ones(self._fit), (np.arange(self._fit), codes)))
        common &= np.diff((self._fitted @ of_document).indptr) >= min(LEAST_DOCUMENTS, codes.max(initial=0) + 1)
        least = LEAST_LEFT * variance
        self.candidates = self._language & common & (squares > least)
        for literal in np.flatnonzero(nuisance).tolist():
            self.candidates[self._copies(literal)] = False
        # From here on, only candidates are considered, and they are identified by their index among the candidates.
        self._places = np.flatnonzero(self.candidates)
        self._number = np.cumsum(self.candidates) - 1
        self._parts = np.ascontiguousarray(parts[:, self._places])
        self._squares, self._least = squares[self._places], least[self._places]

    def _make_column(self, literal: int) -> _Column:
        part, column = self._parts[:, self._number[literal]], having(self._matrix, literal).astype(np.float64)
        fit = self._together(np.flatnonzero(column[: self._fit]))
        values = column[: self.n_train] - self._basis[: self.n_train] @ part
        copies = self._copies(literal)
        copies = copies[self._language[copies]]
        rivals = self._number[copies[self.candidates[copies]]]
        return _Column((fit[self._places] - part @ self._parts).astype(np.float32), values, copies, rivals)

    def _together(self, sentences: Int64s) -> Int64s:
        """Count the training sentences among these that have each literal, `[literals]`."""
        one_fold = np.zeros(len(sentences), np.int8)
        return np.asarray(count_by_fold(self._by_sentence, sentences, one_fold, 1)[:, 0], np.int64)

    def _copies(self, literal: int) -> Int64s:
        """Return the near-copies of a literal on the training sentences, including itself unless it has none."""
        sentences = np.flatnonzero(having(self._matrix, literal))
        together = self._together(sentences[sentences < self.n_train])
        union = self._support[literal] + self._support - together
        return np.flatnonzero((together > 0) & (together >= NEAR * union))

    def near_copies(self, literal: int) -> Int64s:
        """Return the other language literals that are near-copies of a candidate.

        Their training sentences have a Jaccard similarity of at least 0.9 with those of the candidate.
        """
        copies = self._column(int(literal)).copies
        return np.asarray(copies[copies != literal])

    def fit(self, activations: Float32s, most: int, only_r2: bool = False) -> ActivationModels:
        """Return the models of a block of units.

        Args:
            activations: `[n, units]` float32.
            most: maximum number of literals in a model.
            only_r2: skip the gains and the intervals, which take as long as the other scores; they are then NaN.
        """
        n, units = activations.shape
        if n != len(self._order):
            raise ValueError(f"activation model: activations of {n} sentences, literals of {len(self._order)}")
        literals = np.full((units, most), -1, np.int32)
        weights, gains = np.full((2, units, most), np.nan)
        r2, low, high, r2_nuisance = np.full((4, units), np.nan)
        models = ActivationModels(literals, weights, gains, np.zeros(units, np.int32), r2, low, high, r2_nuisance)
        if not self._fit:
            return models
        values = np.asarray(activations, np.float64)[self._order]
        training = values[: self.n_train]
        start = self._basis[: self._fit].T @ training[: self._fit]
        left = training - self._basis[: self.n_train] @ start
        products = (self._fitted @ left[: self._fit])[self._places].T.copy()
        varies = (left[: self._fit] ** 2).sum(0) > _ROUNDING * (training[: self._fit] ** 2).sum(0)
        for unit in np.flatnonzero(varies):
            chosen = self._choose(products[unit], np.ascontiguousarray(left[:, unit]), most)
            literals[unit, : len(chosen)] = chosen
            models.count[unit] = len(chosen)
        start = self._training_basis[: self.n_train].T @ training
        self._score(values, values - self._training_basis @ start, models, only_r2)
        return models

    def _choose(self, products: Float64s, left: Float64s, most: int) -> list[int]:
        """Choose literals for a unit, best first.

        Args:
            products: the products of all candidates with the activation after nuisance is removed, `[candidates]`;
                overwritten.
            left: the activation after nuisance is removed, on the training sentences.
            most: maximum number to choose.
        """
        squares, allowed = self._squares.copy(), np.ones(len(self._places), np.bool_)
        axes = np.empty((most, self.n_train))
        axis_products = np.empty((most, len(allowed)))
        held_back = left[self._fit :]
        error, chosen = held_back @ held_back, []
        for step in range(most):
            best = _best(products, squares, self._least, allowed)
            if best < 0:
                break
            column = self._column(int(self._places[best]))
            if self._plainness is not None and len(column.rivals) > 1:
                plain = column.rivals[allowed[column.rivals] & (squares[column.rivals] > self._least[column.rivals])]
                best = int(plain[np.argmin(self._plainness[self._places[plain]])])
                column = self._column(int(self._places[best]))
            shares = axes[:step, : self._fit] @ column.values[: self._fit]
            axis = column.values - shares @ axes[:step]
            length = float(np.linalg.norm(axis[: self._fit]))
            axes[step] = axis / length
            weight = float(axes[step, : self._fit] @ left[: self._fit])
            held_back = held_back - weight * axes[step, self._fit :]
            if not held_back @ held_back < error:
                break
            error = held_back @ held_back
            chosen.append(int(self._places[best]))
            axis_products[step] = (column.products - shares @ axis_products[:step]) / length
            products -= weight * axis_products[step]
            squares -= axis_products[step] ** 2
            allowed[column.rivals] = False
        return chosen

    def _score(self, values: Float64s, left: Float64s, models: ActivationModels, only_r2: bool) -> None:
        """Refit the models on the training half, and fill in their scores on the test half.

        Args:
            values: the activations in the order of `self._order`, `[n, units]`.
            left: the activations after nuisance is removed; overwritten.
            models: the models, whose literals are already chosen.
            only_r2: see `fit`.
        """
        n_train, basis = self.n_train, self._training_basis
        centred = values[n_train:] - (values[n_train:].mean(0) if self.n_test else 0.0)
        total = (centred**2).sum(0)
        total[total == 0] = np.nan
        models.r2_nuisance[:] = 1 - (left[n_train:] ** 2).sum(0) / total
        for unit in np.flatnonzero(models.count):
            count = models.count[unit]
            columns = self._matrix[models.literals[unit, :count]].toarray()
            columns -= (columns[:, :n_train] @ basis[:n_train]) @ basis.T
            inverse = np.linalg.pinv(columns[:, :n_train] @ columns[:, :n_train].T, 1e-10, hermitian=True)
            weights = inverse @ (columns[:, :n_train] @ left[:n_train, unit])
            left[:, unit] -= weights @ columns
            models.weights[unit, :count] = weights
            if not only_r2:
                # If a literal is dropped, the other weights change in proportion to its row of the inverse.
                rest = left[n_train:, unit]
                without = rest + (inverse * (weights / np.diag(inverse))[:, None]) @ columns[:, n_train:]
                models.gains[unit, :count] = ((without**2).sum(1) - rest @ rest) / total[unit]
        models.r2[:] = 1 - (left[n_train:] ** 2).sum(0) / total
        if self._times is not None and not only_r2:
            models.r2_low[:], models.r2_high[:] = self._intervals(self._times, centred, left[n_train:])

    def _intervals(self, times: Float64s, centred: Float64s, left: Float64s) -> Float64s:
        """Return the ends of R2's 95 % interval, `[2, units]`, from the centred activations and the residuals."""
        by_document = [np.add.reduceat(x, self._documents, axis=0) for x in (left**2, centred**2, centred)]
        error, square, total = (times @ sums for sums in by_document)
        spread = square - total**2 / self._drawn_sizes[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn = np.where(spread > 0, 1 - error / spread, np.nan)
        ends = [percentile_interval(own, times.shape[1], least=-np.inf) for own in drawn.T]
        return np.array([[own.low, own.high] for own in ends]).reshape(-1, 2).T


def _best(products: Float64s, squares: Float64s, least: Float64s, allowed: Bools) -> int:
    """Return the literal that lowers the squared error most, the first of ties; -1 if none lowers it."""
    usable = allowed & (squares > least)
    gain = np.where(usable, products**2 / np.where(usable, squares, 1.0), 0.0)
    best = int(gain.argmax()) if len(gain) else -1
    return best if len(gain) and gain[best] > 0 else -1


def orthonormal_basis(columns: Float64s, rows: int) -> Float64s:
    """Return the constant and the columns, made orthonormal on the first `rows` rows, `[n, 1 to 1 + columns]` float64.

    The other rows get the same combinations of columns, so that a fit on the first rows can be applied to them:
    `basis @ (basis[:rows].T @ y[:rows])` is the least-squares prediction for all rows. A column is dropped if the
    constant and the previous columns explain more than 99 % of its variance on the first rows (Gram-Schmidt with
    reorthogonalisation).

    Args:
        columns: the columns, `[n, columns]`.
        rows: number of first rows on which the basis is orthonormal, at least one.
    """
    n, count = columns.shape
    basis = np.empty((n, 1 + count))
    basis[:, 0] = 1 / np.sqrt(rows)
    kept = 1
    for column in columns.T:
        centred = column - column[:rows].mean()
        variance = centred[:rows] @ centred[:rows]
        left = centred
        for _ in range(2):
            left = left - basis[:, :kept] @ (basis[:rows, :kept].T @ left[:rows])
        square = left[:rows] @ left[:rows]
        if square > LEAST_LEFT * variance:
            basis[:, kept] = left / np.sqrt(square)
            kept += 1
    return basis[:, :kept].copy()
