"""How much of an activation's variance the data set alone explains, and how much literals explain within data sets."""

import numpy as np

from ops.arrays import Bools, Float64s, Floats, Int32s, Int64s
from ops.audit.divisions import NO_PART
from ops.statistics.interval import Interval
from ops.statistics.ratio import Ratio


class WithinParts:
    """The activation sample by part of the corpus.

    Args:
        part: the part of each sentence of the activation sample, `NO_PART` if it has none, `[n]`.
        document: the document of each sentence, `[n]`.
        keep: which sentences are counted, `[n]`; None for all.
    """

    def __init__(self, part: Int32s, document: Int64s, keep: Bools | None = None) -> None:
        counted = part != NO_PART if keep is None else keep & (part != NO_PART)
        self._rows = np.flatnonzero(counted)
        self._part = part[self._rows]
        self._sizes = np.bincount(self._part)[:, None]
        self._documents, self._document = np.unique(document[self._rows], return_inverse=True)

    def eta_squared(self, activations: Floats) -> list[Interval]:
        """Return the share of the variance of each unit's activations `[n, units]` between parts, within 0 and 1."""
        own = np.asarray(activations[self._rows], np.float64)
        own = own - own.mean(0) if len(own) else own
        return self._one_minus(self._centred(own), own, 0.0)

    def r2_within(self, activations: Floats, predicted: Float64s) -> list[Interval]:
        """Return the share of each unit's variance within parts that a prediction explains, at most 1.

        Activations and predictions, `[n, units]` each, are centred in each part, so only the variation within parts is
        compared.
        """
        own = np.asarray(activations[self._rows], np.float64)
        return self._one_minus(self._centred(own - predicted[self._rows]), self._centred(own), -np.inf)

    def _centred(self, values: Float64s) -> Float64s:
        """Return the counted values minus the means of their parts, `[counted, units]`."""
        means = np.zeros((len(self._sizes), values.shape[1]))
        np.add.at(means, self._part, values)
        return values - (means / np.maximum(self._sizes, 1))[self._part]

    def _one_minus(self, left: Float64s, every: Float64s, least: float) -> list[Interval]:
        """Return 1 minus the ratio of the columns' sums of squares, between `least` and 1.

        Means are where squares are smallest, so that their own error has no effect of the first order.
        """
        found = []
        for above, below in zip((left**2).T, (every**2).T, strict=True):
            parts, whole = (
                np.asarray(np.bincount(self._document, own, len(self._documents)), np.float64) for own in (above, below)
            )
            value, low, high = Ratio.of(self._documents, parts, whole).minus(1.0)
            known = low <= high
            found.append(Interval(-value, max(-high, least) if known else np.nan, min(-low, 1.0) if known else np.nan))
        return found
