"""How far cards carry over between data sets, summed over neurons, from the rows of `audit/portability/`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Float64s, Int64s

COLUMNS = ["layer", "unit", "pole", "dataset_from", "dataset_to", "average_precision", "random_precision"]
LEAST_GAIN = 0.01  # mean gain of own cards in average precision; a share of less is noise, so none is computed
_HALF = ", half "  # between a data set's name and the number of its half


@dataclass(frozen=True)
class Transfers:
    """Gains of cards over those of random sets, summed over neurons and poles, by pair of data sets.

    Attributes:
        names: the data sets, sorted.
        above: the gain of one data set's card in another data set, `[from, to]`; 0 on the diagonal.
        below: the gain of the other data set's own card there, over the same neurons and poles, `[from, to]`; the same.
        neurons: the number of neurons and poles with rows.
    """

    names: tuple[str, ...]
    above: Float64s
    below: Float64s
    neurons: int

    def ratios(self) -> Float64s:
        """Return the transfer of each pair, `[from, to]`. NaN: the diagonal, and where own cards gain too little."""
        return self._divided(self.above, self.below)

    def _divided(self, above: Float64s, below: Float64s) -> Float64s:
        known = below >= LEAST_GAIN * max(self.neurons, 1)
        return np.asarray(np.divide(above, below, out=np.full(known.shape, np.nan), where=known))

    def overall(self) -> float | None:
        """Return the transfer over all pairs, as a ratio of sums. None if own cards gain nothing."""
        below = float(self.below.sum())
        return float(self.above.sum()) / below if below > 0 else None

    def between_halves(self, names: Sequence[str]) -> Float64s:
        """Return the transfer between the two halves of each data set, `[names]`, for sums of the control `halves`."""
        is_half = [np.array([half.rpartition(_HALF)[0] == name for half in self.names]) for name in names]
        # The diagonal is 0, so the sum over the halves of a data set has both ways and nothing else.
        above, below = (np.array([sums[mask][:, mask].sum() for mask in is_half]) for sums in (self.above, self.below))
        return self._divided(above, below)

    def mean_gains(self) -> Float64s:
        """Return the mean gain of each data set's own cards, over neurons and the other data sets, `[names]`."""
        return np.asarray(self.below.sum(0) / max(self.neurons * (len(self.names) - 1), 1))

    def gains_nothing(self) -> list[str]:
        """Return the data sets whose own cards gain too little, so that the transfer into them is unknown."""
        return [name for name, gain in zip(self.names, self.mean_gains(), strict=True) if not gain >= LEAST_GAIN]


def keys(rows: pa.Table) -> Int64s:
    """Return a number for the neuron and pole of each row, `[rows]`."""
    layer, unit = (rows[name].to_numpy().astype(np.int64) for name in ("layer", "unit"))
    is_top = pc.equal(rows["pole"], "top").to_numpy()
    return np.asarray(layer << 33 | unit << 1 | is_top)


def among(rows: pa.Table, chosen: Int64s) -> Bools:
    """Return which rows belong to the chosen neurons and poles, `[rows]`."""
    return np.isin(keys(rows), chosen)


def sum_transfers(rows: pa.Table) -> Transfers:
    """Return the sums of all rows.

    A pair of data sets counts for a neuron and pole if both gains are known. Sums are divided instead of averaging
    ratios, because a ratio can have any size if an own card gains next to nothing. The rows are those of
    `audit/portability/` with `COLUMNS`, or of one of its controls.
    """
    names = sorted({*rows["dataset_from"].unique().to_pylist(), *rows["dataset_to"].unique().to_pylist()})
    neurons, neuron = np.unique(keys(rows), return_inverse=True)
    one, other = (
        pc.index_in(rows[column], pa.array(names, pa.string())).to_numpy() for column in ("dataset_from", "dataset_to")
    )
    precision, random = (pc.fill_null(rows[f"{name}_precision"], np.nan).to_numpy() for name in ("average", "random"))
    gain = np.full((len(neurons), len(names), len(names)), np.nan)
    gain[neuron, one, other] = precision - random
    theirs = np.broadcast_to(np.diagonal(gain, axis1=1, axis2=2)[:, None, :], gain.shape)
    known = np.isfinite(gain) & np.isfinite(theirs) & ~np.eye(len(names), dtype=np.bool_)
    return Transfers(tuple(names), np.where(known, gain, 0.0).sum(0), np.where(known, theirs, 0.0).sum(0), len(neurons))
