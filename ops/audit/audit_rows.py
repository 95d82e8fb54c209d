"""The rows of the tables of an audit, and its verdicts: whether a neuron or a literal is the same in all data sets."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ops.arrays import Float64s, Int64s
from ops.audit.audited_division import DatasetWinners
from ops.audit.audited_literals import Tested
from ops.audit.divisions import Division
from ops.audit.transfer import HOLDS, Precisions
from ops.statistics.interval import Interval
from ops.statistics.lifts import Lifts

Row = dict[str, Any]

DATASET_DETECTOR, GLOBAL, LOCAL, NONE = VERDICTS = ("dataset_detector", "global", "local", "none")
DETECTOR_ETA_SQUARED = 0.25
GLOBAL_SHARE = 0.75
DATASET = "dataset"
LEAST_LIFT = 2.0  # within data sets, of a literal that says more of a neuron than its data set does
MOST_I2, LEAST_DATASETS = 0.5, 3  # maximum I2 and minimum number of data sets of a global literal


def portability_rows(precisions: Precisions, division: Division, n: Int64s) -> Iterator[Row]:
    """Yield the rows of `audit/portability/` for a set of winners, `n` of them in each part."""
    pairs = precisions.pairs
    for start, name in enumerate(division.parts):
        for to in np.flatnonzero(division.group == division.group[start]).tolist():
            one = np.zeros_like(pairs)
            one[start, to] = pairs[start, to]
            own, random = (precisions.interval(which, start, to) for which in (0, 1))
            yield {
                "dataset_from": name, "dataset_to": division.parts[to], "n": int(n[to]),
                "documents": int(precisions.documents[to]), **own.columns("average_precision"),
                **random.columns("random_precision"), **precisions.transfer(one).columns("transfer"),
            }  # fmt: skip


def pattern_row(literal: Tested, lifts: Lifts, division: Division, winners: DatasetWinners) -> Row:
    """Return the row of `audit/patterns/` for a literal."""
    tested = literal.folds[winners.fold]
    n = np.bincount(winners.part[tested], minlength=len(division))
    names = ("pole", "model", "rank", "kind", "pattern", "negated")
    return {name: literal.row[name] for name in names} | lifts.mantel_haenszel.columns("mantel_haenszel") | {
        "folds": int(literal.folds.sum()),
        "dataset_names": list(division.parts),
        "log_lifts": _nulls(lifts.log_lift),
        "log_lifts_low": _nulls(lifts.low),
        "log_lifts_high": _nulls(lifts.high),
        "winners": n.tolist(),
        "n": int(n.sum()),
        "significant": int(lifts.significant.sum()),
        "cochran_q": lifts.q,
        "cochran_p": lifts.q_p,
        "i_squared": lifts.i2,
        "lift": literal.lift if np.isfinite(literal.lift) else None,
        "verdict": literal_verdict(lifts, literal.lift),
    }  # fmt: skip


def neuron_row(
    precisions: Precisions, division: Division, winners: DatasetWinners, share: Row, any_lift: bool
) -> Row:  # fmt: skip
    """Return the row of `audit/neurons/` without the columns of `share`."""
    holds = [
        name
        for name, transfer in zip(division.parts, precisions.into(), strict=True)
        if transfer.value >= HOLDS and transfer.low > 0
    ]
    better = [name for name, beats in zip(division.parts, precisions.beats_random().tolist(), strict=True) if beats]
    datasets, overall = int(winners.usable.sum()), precisions.transfer(precisions.pairs)
    illusion = Interval(1 - overall.value, 1 - overall.high, 1 - overall.low)
    eta_squared = share.get("eta_squared")
    return overall.columns("transfer") | illusion.columns("illusion") | {
        "ported": len(holds),
        "holds_in": holds,
        "found_in": better,
        "datasets": datasets,
        "n": len(winners.rows),
        "verdict": verdict(
            eta_squared=np.nan if eta_squared is None else eta_squared, any_lift=any_lift, ported=len(holds),
            datasets=datasets, above_random=len(better),
        ),
    }  # fmt: skip


def _nulls(values: Float64s) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def verdict(*, eta_squared: float, any_lift: bool, ported: int, datasets: int, above_random: int) -> str:
    """Return the verdict on a neuron and pole, by the first of these rules that applies.

    1. `dataset_detector`: the data set explains at least a quarter of the activation's variance, and no literal of the
       cards that is not nuisance has a lift of at least 2 within data sets that is significantly above 1.
    2. `global`: the cards of the other data sets hold in at least three quarters of the data sets.
    3. `local`: in at least one data set, the card learned there beats the card of a random set.
    4. `none` in all other cases.

    Args:
        eta_squared: share of the activation's variance that is between data sets; NaN if unknown.
        any_lift: whether a literal that is not nuisance has such a Mantel-Haenszel lift.
        ported: number of data sets in which the cards of the other data sets hold.
        datasets: number of data sets in which the neuron and pole has enough winners.
        above_random: number of data sets whose own card beats the card of a random set.

    >>> verdict(eta_squared=0.0, any_lift=True, ported=4, datasets=6, above_random=6)
    'local'
    """
    if eta_squared >= DETECTOR_ETA_SQUARED and not any_lift:
        return DATASET_DETECTOR
    if datasets > 1 and ported >= GLOBAL_SHARE * datasets:
        return GLOBAL
    return LOCAL if above_random else NONE


def literal_verdict(lifts: Lifts, overall: float) -> str:
    """Return the verdict on a literal, by the first of these rules that applies.

    1. `global`: the Mantel-Haenszel lift is significantly above 1, I2 is below 0.5 or unknown, and the lift is
       significant in at least 3 data sets.
    2. `local`: the lift is significant in at least one data set.
    3. `dataset`: the lift with all data sets pooled, `overall`, is above 1 (NaN if unknown), but the Mantel-Haenszel
       interval contains 1.
    4. `none` in all other cases.
    """
    within = lifts.mantel_haenszel
    if within.low > 1 and not lifts.i2 >= MOST_I2 and lifts.significant.sum() >= LEAST_DATASETS:
        return GLOBAL
    if lifts.significant.any():
        return LOCAL
    return DATASET if overall > 1 and within.low <= 1 <= within.high else NONE
