"""How much of an activation's variance the data set alone explains, and how much literals explain within data sets."""

import numpy as np

from ops.arrays import Bools, Float64s, Floats, Int32s, Int64s, UInt8s
from ops.audit.divisions import NO_PART


class WithinParts:
    """Sums over the activation sample by part of the corpus, in the sample and in its bootstrap samples of documents.

    Args:
        part: the part of each sentence of the activation sample, `NO_PART` if it has none, `[n]`.
        document: the document of each sentence, as a row of `draws`, `[n]`.
        draws: how often the sample and each bootstrap sample contain each document, `[documents, 1 + samples]`.
        keep: which sentences are counted, `[n]`; None for all.

    Attributes:
        documents: number of documents of the counted sentences.
    """

    def __init__(self, part: Int32s, document: Int64s, draws: UInt8s, keep: Bools | None = None) -> None:
        counted = part != NO_PART if keep is None else keep & (part != NO_PART)
        rows = np.flatnonzero(counted)
        # A document may be in several parts if its sentences are; each pair of document and part is summed separately.
        pair = part[rows].astype(np.int64) * (int(document.max(initial=-1)) + 1) + document[rows]
        order = np.argsort(pair, kind="stable")
        self._rows = rows[order]
        starts = np.flatnonzero(np.diff(pair[order], prepend=-1))
        self._starts, first = starts, self._rows[starts]
        self._times = draws[document[first]].T.astype(np.float64)
        self._parts = part[first]
        self.documents = len(np.unique(document[rows]))
        self._counts = self._sums(np.ones((len(part), 1)))[:, :, 0]

    def _sums(self, values: Float64s) -> Float64s:
        """Return the sums of the columns of values by part and sample, `[parts, 1 + samples, columns]`."""
        size = int(self._parts.max(initial=-1)) + 1
        found = np.zeros((size, self._times.shape[0], values.shape[1]))
        if len(self._starts):
            by_document = np.add.reduceat(values[self._rows], self._starts)
            for part in range(size):
                own = self._parts == part
                found[part] = self._times[:, own] @ by_document[own]
        return found

    def _squares(self, values: Float64s) -> tuple[Float64s, Float64s]:
        """Return each column's squares around the means of the parts, and around the total mean, `[1 + samples, c]`."""
        # Centred on the overall mean first, to reduce rounding errors.
        values = values - (values[self._rows].mean(0) if len(self._rows) else 0.0)
        sums, squares = self._sums(values), self._sums(values**2)
        n = self._counts[:, :, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            within = (squares - np.where(n > 0, sums**2 / n, 0.0)).sum(0)
            total = squares.sum(0) - sums.sum(0) ** 2 / n.sum(0)
        return np.maximum(within, 0.0), np.maximum(total, 0.0)

    def eta_squared(self, activations: Floats) -> Float64s:
        """Return the share of each unit's variance that is between parts, `[units, 1 + samples]`.

        Args:
            activations: the units' activations in the sample's sentences, `[n, units]`.
        """
        within, total = self._squares(np.asarray(activations, np.float64))
        return _one_minus(within, total).T

    def r2_within(self, activations: Floats, predicted: Float64s) -> Float64s:
        """Return the share of each unit's variance within parts that a prediction explains, `[units, 1 + samples]`.

        Activations and predictions are centred in each part, so only the variation within parts is compared.

        Args:
            activations, predicted: the activations and the predictions, `[n, units]`.
        """
        wide = np.asarray(activations, np.float64)
        left, _ = self._squares(wide - predicted)
        every, _ = self._squares(wide)
        return _one_minus(left, every).T


def _one_minus(part: Float64s, whole: Float64s) -> Float64s:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(whole > 0, 1 - part / whole, np.nan))
