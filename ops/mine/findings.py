"""Findings: patterns or property values of sets of winners, compared with the baseline, ranked and tested.

They become the rows of `patterns/` and `profiles/`.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from ops import schema
from ops.arrays import Bools, Float64s, Int64s, Integers
from ops.mine.baseline_counts import Baseline, BaselineValues
from ops.mine.candidates import Candidates, least_supports, of_kind, read_candidates
from ops.mine.pattern_kinds import PatternKind
from ops.mine.properties import Profiler, Property, Selection
from ops.mine.sentence_sets import SentenceSets, spans_within
from ops.mine.value_counts import count_in_sets
from ops.patterns.mined import COUNTS, Records
from ops.statistics.association import measures, place_in_group, rank_patterns
from ops.statistics.design_effect import design_effects, expected_effects
from ops.statistics.false_discovery import q_values, selected_p_values

MOST_CANDIDATES = 200_000  # in memory at once; a set with more is measured by itself
MAX_VALUES = 200  # of a property whose rare values are omitted, for each set
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


def pattern_rows(
    candidates: pa.Table, kinds: Iterable[PatternKind], baseline: Baseline, sets: SentenceSets, min_count: int,
    productivity: float, max_patterns: int,
) -> tuple[Int64s, pa.Table]:  # fmt: skip
    """Return the patterns of sets of winners, sorted by set, kind and rank.

    The result is the index of each row's set, and all columns of `patterns/` except those of the neuron. False
    discovery rates are computed over all patterns mined in a set, before the productivity filter and the cap.

    Args:
        candidates: rows of `ops.mine.candidates`, which may include those of other sets.
        min_count, productivity, max_patterns: the options of `mine`; 0 switches the last two off.
    """
    owners: list[Int64s] = [np.zeros(0, np.int64)]
    tables = []
    documents = sets.document_sizes()
    for kind in sorted(kinds, key=lambda kind: kind.name):
        least = least_supports(kind.min_support, sets.sizes, min_count)
        for chosen, findings in pattern_findings(candidates, kind, baseline, sets, min_count):
            findings = findings._replace(design_effect=effects(findings, chosen.counts, *documents))
            q = rates(findings, least[findings.set_of])
            if productivity:
                keep = kind.productive(chosen.patterns, chosen.sets, findings.lift, productivity)
                findings, q = findings.take(keep), q[keep]
            used, which = np.unique(findings.item, return_inverse=True)
            texts, items = kind.texts_and_items(chosen.patterns.take(used))
            alphabetical = np.asarray(pc.rank(texts, tiebreaker="dense")).astype(np.int64)
            order, rank = ranked(findings, alphabetical[which])
            if max_patterns:
                order, rank = order[rank < max_patterns], rank[rank < max_patterns]
            lists = items.take(pa.array(which[order]))
            columns = {"kind": pa.repeat(kind.name, len(order)), "pattern": texts.take(pa.array(which[order]))}
            columns |= {"items": lists, "size": lists.value_lengths()}
            tables.append(finding_rows("patterns", findings.take(order), q[order], rank, columns))
            owners.append(findings.set_of[order])
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return owner[order], schema.concatenate(without_neuron("patterns"), tables).take(order)


def pattern_findings(
    candidates: pa.Table, kind: PatternKind, baseline: Baseline, sets: SentenceSets, min_count: int,
    half: int | None = None,
) -> Iterator[tuple[Candidates, Findings]]:  # fmt: skip
    """Yield the frequent candidates of one kind, for a few sets at a time, and each one's finding.

    The findings have no design effects. `half` is 0 or 1 if `sets` and `baseline` are those of one half of the
    documents.
    """
    rows, outside = of_kind(candidates, kind.name, sets.number), baseline.sentences - sets.inside
    least = least_supports(kind.min_support, sets.sizes, min_count)
    starts = np.searchsorted(rows["set"].to_numpy(), np.append(sets.number, np.iinfo(np.int32).max))
    for first, stop in spans_within(starts, MOST_CANDIDATES):
        mined = read_candidates(rows.slice(starts[first], starts[stop] - starts[first]), sets.number[first:stop])
        chosen = mined.frequent(least[first:stop], half)
        set_of, item = first + chosen.set_of, chosen.sets.items
        support = baseline.support(kind.name, chosen.patterns)[item]
        yield chosen, Findings.compare(set_of, item, chosen.counts, sets.sizes[set_of], support, outside[set_of])


def profile_rows(profiler: Profiler, baseline: Baseline, sets: SentenceSets, min_count: int) -> tuple[Int64s, pa.Table]:
    """Return the profiles of sets of winners, sorted by set, property and rank.

    The result is the index of each row's set, and all columns of `profiles/` except those of the neuron. Of a property
    whose rare values are omitted, at least `min_count` winners have a value.
    """
    selection = profiler.select(sets.rows)
    owners, tables = [], []
    for property_, counts in sorted(zip(profiler.properties, baseline.values, strict=True), key=lambda p: p[0].name):
        least = min_count if property_.rare_left_out else 0
        findings = value_findings(property_, selection, sets, counts, least)
        q, rank = rates(findings, least), place_in_group(findings.set_of)
        if property_.rare_left_out:
            # Rates are computed over all values that enough winners have, before the cap.
            first = rank < MAX_VALUES
            findings, q, rank = findings.take(first), q[first], rank[first]
        used, which = np.unique(findings.item, return_inverse=True)
        texts = pa.array([property_.values[value] for value in used], pa.string()).take(pa.array(which))
        columns = {"property": pa.repeat(property_.name, len(rank)), "value": texts}
        tables.append(finding_rows("profiles", findings, q, rank, columns))
        owners.append(findings.set_of)
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return owner[order], pa.concat_tables(tables).take(order)


def value_findings(
    property_: Property, selection: Selection, sets: SentenceSets, baseline: BaselineValues, least: int
) -> Findings:
    """Return the values that at least `least` sentences, or tokens, of a set have, sorted by set and rank.

    If `least` is 0, return all values that the set or the baseline has. A set to which the property does not apply gets
    none.
    """
    n_values = len(property_.values)
    counted = count_in_sets(
        property_.codes(selection), sets.members, sets.in_baseline, sets.documents, n_values, property_.every_sentence
    )
    set_of, value, counts = counted.set_of, counted.value, counted.counts
    if not least:
        # All values that the set or the baseline has are few enough for a complete table.
        table = np.zeros((len(sets), n_values), COUNTS)
        table[set_of, value] = counts
        set_of, value = np.nonzero((table["support"] > 0) | (baseline.count > 0))
        counts = table[set_of, value]
    keep = np.flatnonzero((counts["support"] >= least) & (counted.n[set_of] > 0))
    set_of, value, counts = set_of[keep], value[keep], counts[keep]
    outside = baseline.n - counted.marked_n
    findings = Findings.compare(set_of, value, counts, counted.n[set_of], baseline.count[value], outside[set_of])
    effect = effects(findings, counts, counted.n_documents, counted.n_squares)
    if len(baseline.squares):
        of_values = baseline.count[value], baseline.n, baseline.squares[value], baseline.products[value]
        lacking = expected_effects(*of_values, baseline.n_squares, findings.n, counted.n_squares[set_of])
        fewer = findings.support < findings.n * expected_shares(findings)
        effect = np.where(fewer, np.maximum(effect, lacking), effect)
    return findings._replace(design_effect=effect).take(ranked(findings, value)[0])


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
