"""Findings: patterns or property values of sets of sentences, compared with the baseline, ranked and tested."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from ops import schema
from ops.arrays import Float64s, Int64s, Integers
from ops.patterns.mined import Records
from ops.statistics.association import measures, place_in_group, rank_patterns
from ops.statistics.design_effect import design_effects
from ops.statistics.false_discovery import q_values, selected_p_values

# A finding has the index of its set, and of its pattern or value. `support` of the set's `n` sentences have it, which
# come from `documents` documents, and `baseline_support` of the `baseline_n` baseline sentences outside the set. If
# tokens have the values of a property, these are numbers of tokens. The rest are `ops.statistics.association.Measures`.
_COUNTED = ("set", "item", "support", "documents", "n", "baseline_support", "baseline_n")
_MEASURED = ("design_effect", "share", "baseline_share", "lift", "lift_low", "g2")
FINDING = np.dtype([*((name, np.int64) for name in _COUNTED), *((name, np.float64) for name in _MEASURED)])
_OF_A_NEURON = ("layer", "unit", "pole")


def compare(
    set_of: Int64s, item: Integers, counts: Records, n: Int64s, baseline_support: Int64s, baseline_n: Int64s
) -> Records:
    """Return the findings `[n]` of several sets, with an unknown design effect.

    Args:
        set_of, item: the index of each finding's set, and of its pattern or value.
        counts: its `ops.patterns.mined.COUNTS` in the set, whose marked sentences are those in the baseline.
        n: number of sentences of its set.
        baseline_support: number of sentences of the complete baseline that have it.
        baseline_n: number of baseline sentences outside its set.
    """
    outside = baseline_support - counts["marked"]
    measured = measures(counts["support"], n, outside, baseline_n)
    columns = {
        "set": set_of, "item": item, "support": counts["support"], "documents": counts["documents"], "n": n,
        "baseline_support": outside, "baseline_n": baseline_n, "design_effect": np.nan, **vars(measured),
    }  # fmt: skip
    findings = np.empty(len(set_of), FINDING)
    for name, column in columns.items():
        findings[name] = column
    return findings


def expected_shares(findings: Records) -> Float64s:
    """Return each finding's share in its set and the baseline together, `[n]`."""
    total = findings["n"] + findings["baseline_n"]
    return np.asarray((findings["support"] + findings["baseline_support"]) / total)


def effects(findings: Records, counts: Records, n_documents: Int64s, n_squares: Int64s) -> Float64s:
    """Return each finding's design effect, `[n]`, given its counts and its set's documents, `[sets]`.

    `n_documents` and `n_squares` are those of `ops.mine.value_counts.ValueCounts`.
    """
    of_item = counts["documents"], counts["squares"], counts["products"]
    of_set = n_documents[findings["set"]], n_squares[findings["set"]]
    return design_effects(findings["support"], findings["n"], expected_shares(findings), *of_item, *of_set)


def rates(findings: Records, least: ArrayLike) -> Float64s:
    """Return each finding's false discovery rate within its set, `[n]`; NaN without a baseline.

    `least` is the minimum support for which findings were selected; 0 if all of them are given.
    """
    q, has = np.full(len(findings), np.nan), findings["baseline_n"] > 0
    tested, floor = findings[has], np.broadcast_to(least, len(findings))[has]
    a, n, c, baseline_n = (tested[name] for name in ("support", "n", "baseline_support", "baseline_n"))
    q[has] = q_values(selected_p_values(a, n, c, baseline_n, floor, tested["design_effect"]), tested["set"])
    return q


def ranked(findings: Records, ties: ArrayLike) -> tuple[Int64s, Int64s]:
    """Return the order of findings by set, g2, support and `ties`, and the rank of each in this order, from 0."""
    order = rank_patterns(findings["g2"], findings["support"], ties, findings["set"])
    return order, place_in_group(findings["set"][order])


def finding_rows(table: str, findings: Records, q: Float64s, rank: Int64s, columns: dict[str, Any]) -> pa.Table:
    """Return findings as rows of `patterns/` or `profiles/`, without the columns of the neuron.

    Args:
        table: the name of the table.
        findings, q, rank: the findings, their false discovery rates and their ranks, from 0, `[n]`.
        columns: the columns that only this table has.
    """
    known = {name: np.ascontiguousarray(findings[name]) for name in (*_COUNTED, *_MEASURED)}
    known["design_effect"][np.isinf(known["design_effect"])] = np.nan
    own = {"count": known["support"], "docs": known["documents"], "q_value": q, "rank": rank + 1, **columns}
    return schema.table(without_neuron(table), known | own)


def without_neuron(table: str) -> pa.Schema:
    """Return the schema of a table without the columns of the neuron and pole."""
    return pa.schema([field for field in schema.schema(table) if field.name not in _OF_A_NEURON])
