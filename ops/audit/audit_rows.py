"""The rows of the tables of an audit."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ops.arrays import Float64s, Int64s
from ops.audit.across_datasets import literal_verdict, verdict
from ops.audit.audited_division import DatasetWinners
from ops.audit.audited_literals import Tested
from ops.audit.divisions import Division
from ops.audit.transfer import HOLDS, Precisions
from ops.statistics.interval import Interval
from ops.statistics.lifts import Lifts

Row = dict[str, Any]


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


def pattern_row(literal: Tested, own: Lifts, division: Division, winners: DatasetWinners) -> Row:
    """Return the row of `audit/patterns/` for a literal."""
    tested = literal.folds[winners.fold]
    n = np.bincount(winners.part[tested], minlength=len(division))
    names = ("pole", "model", "rank", "kind", "pattern", "negated")
    return {name: literal.row[name] for name in names} | own.mantel_haenszel.columns("mantel_haenszel") | {
        "folds": int(literal.folds.sum()),
        "dataset_names": list(division.parts),
        "log_lifts": _nulls(own.log_lift),
        "log_lifts_low": _nulls(own.low),
        "log_lifts_high": _nulls(own.high),
        "winners": n.tolist(),
        "n": int(n.sum()),
        "significant": int(own.significant.sum()),
        "cochran_q": own.q,
        "cochran_p": own.q_p,
        "i_squared": own.i2,
        "lift": literal.lift if np.isfinite(literal.lift) else None,
        "verdict": literal_verdict(own, literal.lift),
    }  # fmt: skip


def neuron_row(
    precisions: Precisions, division: Division, winners: DatasetWinners, share: Row, any_lift: bool
) -> Row:  # fmt: skip
    """Return the row of `audit/neurons/` without the columns of `share`."""
    holds = [
        name for name, own in zip(division.parts, precisions.into(), strict=True) if own.value >= HOLDS and own.low > 0
    ]
    found = [name for name, own in zip(division.parts, precisions.beats_random().tolist(), strict=True) if own]
    datasets, overall = int(winners.usable.sum()), precisions.transfer(precisions.pairs)
    illusion = Interval(1 - overall.value, 1 - overall.high, 1 - overall.low)
    eta_squared = share.get("eta_squared")
    return overall.columns("transfer") | illusion.columns("illusion") | {
        "ported": len(holds),
        "holds_in": holds,
        "found_in": found,
        "datasets": datasets,
        "n": len(winners.rows),
        "verdict": verdict(
            eta_squared=np.nan if eta_squared is None else eta_squared, any_lift=any_lift, ported=len(holds),
            datasets=datasets, found=len(found),
        ),
    }  # fmt: skip


def _nulls(values: Float64s) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
