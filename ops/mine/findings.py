"""Findings: patterns or property values of sets of sentences, compared with the baseline, ranked and tested."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from ops import schema
from ops.arrays import Bools, Float64s, Int64s, Integers
from ops.patterns.mined import Records
from ops.statistics.association import measures, place_in_group, rank_patterns
from ops.statistics.design_effect import design_effects
from ops.statistics.false_discovery import q_values, selected_p_values

_OF_A_NEURON = ("layer", "unit", "pole")


class Findings(NamedTuple):
    """The findings of several sets, as columns `[n]`.

    Attributes:
        set_of, item: the index of each finding's set, and of its pattern or value.
        support, documents: number of sentences of its set that have it, and of their documents.
        n: number of sentences of its set. If tokens have the values of a property, all counts are of tokens.
        baseline_support, baseline_n: number of baseline sentences outside the set that have it, and of all of them.
        share, baseline_share, lift, lift_low, g2: its `ops.statistics.association.Measures`.
        design_effect: its design effect, NaN until it is known.
    """

    set_of: Int64s
    item: Integers
    support: Int64s
    documents: Int64s
    n: Int64s
    baseline_support: Int64s
    baseline_n: Int64s
    share: Float64s
    baseline_share: Float64s
    lift: Float64s
    lift_low: Float64s
    g2: Float64s
    design_effect: Float64s

    @classmethod
    def compare(
        cls, set_of: Int64s, item: Integers, counts: Records, n: Int64s, baseline_support: Int64s, baseline_n: Int64s
    ) -> "Findings":
        """Return the findings of several sets, given the counts of the complete baseline.

        Args:
            counts: the `ops.patterns.mined.COUNTS` in the sets, whose marked sentences are those in the baseline.
            baseline_support: number of sentences of the complete baseline that have each pattern or value.
        """
        support, documents = (np.ascontiguousarray(counts[name]) for name in ("support", "documents"))
        outside = baseline_support - counts["marked"]
        measured = measures(support, n, outside, baseline_n)
        columns = set_of, item, support, documents, n, outside, baseline_n
        return cls(*columns, **vars(measured), design_effect=np.full(len(item), np.nan))

    def take(self, rows: Int64s | Bools) -> "Findings":
        """Return some of the findings, by indices or by a mask."""
        columns: list[Any] = [column[rows] for column in self]
        return Findings(*columns)


def expected_shares(findings: Findings) -> Float64s:
    """Return each finding's share in its set and the baseline together, `[n]`."""
    total = findings.n + findings.baseline_n
    return np.asarray((findings.support + findings.baseline_support) / total)


def effects(findings: Findings, counts: Records, n_documents: Int64s, n_squares: Int64s) -> Float64s:
    """Return each finding's design effect, `[n]`, given its counts and its set's documents, `[sets]`.

    `n_documents` and `n_squares` are those of `ops.mine.value_counts.ValueCounts`.
    """
    of_item = counts["documents"], counts["squares"], counts["products"]
    of_set = n_documents[findings.set_of], n_squares[findings.set_of]
    return design_effects(findings.support, findings.n, expected_shares(findings), *of_item, *of_set)


def rates(findings: Findings, least: ArrayLike) -> Float64s:
    """Return each finding's false discovery rate within its set, `[n]`; NaN without a baseline.

    `least` is the minimum support for which findings were selected; 0 if all of them are given.
    """
    q, has = np.full(len(findings.item), np.nan), findings.baseline_n > 0
    floor = np.broadcast_to(least, len(findings.item))
    columns = findings.support, findings.n, findings.baseline_support, findings.baseline_n
    a, n, c, baseline_n = (column[has] for column in columns)
    p = selected_p_values(a, n, c, baseline_n, floor[has], findings.design_effect[has])
    q[has] = q_values(p, findings.set_of[has])
    return q


def ranked(findings: Findings, ties: Int64s) -> tuple[Int64s, Int64s]:
    """Return the order of findings by set, g2, support and `ties`, and the rank of each in this order, from 0."""
    order = rank_patterns(findings.g2, findings.support, ties, findings.set_of)
    return order, place_in_group(findings.set_of[order])


def finding_rows(table: str, findings: Findings, q: Float64s, rank: Int64s, columns: dict[str, Any]) -> pa.Table:
    """Return findings as rows of `patterns/` or `profiles/`, without the columns of the neuron.

    `q` and `rank [n]` are their false discovery rates and ranks, from 0. `columns` are those that only this table has.
    """
    effect = np.where(np.isinf(findings.design_effect), np.nan, findings.design_effect)
    known = {"count": findings.support, "docs": findings.documents, "q_value": q, "rank": rank + 1}
    return schema.table(without_neuron(table), findings._asdict() | known | {"design_effect": effect} | columns)


def without_neuron(table: str) -> pa.Schema:
    """Return the schema of a table without the columns of the neuron and pole."""
    return pa.schema([field for field in schema.schema(table) if field.name not in _OF_A_NEURON])
