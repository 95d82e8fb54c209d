"""The rows of `patterns/`: patterns of several sets of winners, compared with the baseline, filtered and ranked."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Float64s, Int64s
from ops.mine.baseline_counts import Baseline
from ops.mine.candidates import Candidates, least_supports, of_kind, read_candidates
from ops.mine.pattern_kinds import PatternKind
from ops.mine.sentence_sets import SentenceSets, spans_within
from ops.schema import concatenate
from ops.statistics.association import Measures, measures, place_in_group, rank_patterns
from ops.statistics.design_effect import design_effects
from ops.statistics.false_discovery import q_values, selected_p_values

MOST_CANDIDATES = 200_000


def pattern_rows(
    candidates: pa.Table,
    kinds: Iterable[PatternKind],
    baseline: Baseline,
    sets: SentenceSets,
    min_count: int,
    productivity: float,
    max_patterns: int,
    most_candidates: int = MOST_CANDIDATES,
) -> tuple[Int64s, pa.Table]:
    """Return the patterns of sets of winners, sorted by set, kind and rank.

    The result is the index of each row's set, and all columns of `patterns/` except those of the neuron. False
    discovery rates are computed over all patterns mined in a set, before the productivity filter and the cap.

    Args:
        candidates: rows of `ops.mine.candidates`, which may include those of other sets.
        kinds: the kinds of patterns that were mined.
        baseline: the baseline's counts.
        sets: the sets.
        min_count, productivity, max_patterns: the options of `mine`; 0 switches the last two off.
        most_candidates: see `chunks`.
    """
    owners: list[Int64s] = [np.zeros(0, np.int64)]
    tables = []
    n_documents, n_squares = sets.document_sizes()
    for kind in sorted(kinds, key=lambda kind: kind.name):
        rows = of_kind(candidates, kind.name, sets.number)
        for first, stop, some in chunks(rows, sets.number, most_candidates):
            part = Chosen(some, kind, baseline, sets.sizes[first:stop], sets.inside[first:stop])
            effects = part.design_effects(n_documents[first:stop], n_squares[first:stop])
            owner, table = part.rows(effects, min_count, productivity, max_patterns)
            owners.append(owner + first)
            tables.append(table)
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return owner[order], concatenate("patterns", tables, without=("layer", "unit", "pole")).take(order)


def chunks(
    rows: pa.Table, number: Int64s, most_candidates: int = MOST_CANDIDATES
) -> Iterable[tuple[int, int, Candidates]]:
    """Yield the candidates of one kind for a few sets at a time: the first set, the end, and the candidates.

    Args:
        rows: the candidates of that kind.
        number: the sets' numbers.
        most_candidates: maximum number of candidates in memory at once; a set with more is returned by itself.
    """
    starts = np.searchsorted(rows["set"].to_numpy(), np.append(number, np.iinfo(np.int32).max))
    for first, stop in spans_within(starts, most_candidates):
        part = rows.slice(starts[first], starts[stop] - starts[first])
        yield first, stop, read_candidates(part, number[first:stop])


class Chosen:
    """Candidates of one kind in some sets, with their baseline counts.

    Args:
        candidates: the candidates.
        kind: the candidates' kind.
        baseline: the baseline's counts.
        sizes: number of sentences of each set, `[sets]`.
        inside: number of these sentences that are also in the baseline, `[sets]`.

    Attributes:
        n1, n2: for each candidate, the number of sentences of its set, and of baseline sentences outside the set.
        elsewhere: number of these baseline sentences that have the candidate.
        measured: the measures of each candidate.
    """

    def __init__(
        self, candidates: Candidates, kind: PatternKind, baseline: Baseline, sizes: Int64s, inside: Int64s
    ) -> None:
        self.candidates, self.kind, self.sizes = candidates, kind, sizes
        self.set_of = candidates.set_of
        self.n1, self.n2 = sizes[self.set_of], (baseline.sentences - inside)[self.set_of]
        self.elsewhere = baseline.support(kind.name, candidates.patterns)[candidates.sets.items] - candidates.own
        self.measured: Measures = measures(candidates.support, self.n1, self.elsewhere, self.n2)

    def design_effects(self, n_documents: Int64s, n_squares: Int64s) -> Float64s:
        """Return each candidate's design effect, given the result of `SentenceSets.document_sizes`."""
        found = self.candidates
        expected = (found.support + self.elsewhere) / (self.n1 + self.n2)
        of_pattern, of_set = (
            (found.docs, found.squares, found.products),
            (n_documents[self.set_of], n_squares[self.set_of]),
        )
        return design_effects(found.support, self.n1, expected, *of_pattern, *of_set)

    def rows(
        self, effects: Float64s, min_count: int, productivity: float, max_patterns: int
    ) -> tuple[Int64s, pa.Table]:
        """Return the index of each row's set, and the columns of `patterns/` without the neuron's, by set and rank."""
        found, g2 = self.candidates, self.measured.g2
        keep = np.arange(len(found.support))
        if productivity:
            keep = np.flatnonzero(self.kind.productive(found.patterns, found.sets, self.measured.lift, productivity))
        used, which = np.unique(found.sets.items[keep], return_inverse=True)
        texts, items = self.kind.texts_and_items(found.patterns.take(used))
        place = np.asarray(pc.rank(texts, tiebreaker="dense")).astype(np.int64)[which]
        order = rank_patterns(g2[keep], found.support[keep], place, self.set_of[keep])
        rank = place_in_group(self.set_of[keep][order])
        if max_patterns:
            order, rank = order[rank < max_patterns], rank[rank < max_patterns]
        chosen, which = keep[order], which[order]
        lists = items.take(pa.array(which))
        table = pa.table(
            {
                "kind": pa.repeat(self.kind.name, len(order)),
                "pattern": texts.take(pa.array(which)),
                "items": lists,
                "size": lists.value_lengths(),
                "support": pa.array(found.support[chosen], pa.int32()),
                **measured_columns(self.measured, chosen),
                "lift_low": float_column(self.measured.lift_low[chosen]),
                "design_effect": float_column(effects[chosen]),
                "q_value": pa.array(self._q_values(effects, min_count)[chosen], pa.float64(), from_pandas=True),
                "docs": pa.array(found.docs[chosen], pa.int32()),
                "rank": pa.array(rank + 1, pa.int32()),
            }
        )
        return self.set_of[chosen], table

    def _q_values(self, effects: Float64s, min_count: int) -> Float64s:
        """Return each candidate's false discovery rate within its set; NaN without a baseline."""
        least = least_supports(self.kind.min_support, self.sizes, min_count)[self.set_of]
        q = np.full(len(least), np.nan)
        has = self.n2 > 0
        counts = (self.candidates.support, self.n1, self.elsewhere, self.n2, least, effects)
        a, n1, c, n2, floor, effect = (column[has] for column in counts)
        p = selected_p_values(a, n1, c, n2, floor, effect)
        q[has] = q_values(p, self.set_of[has])
        return q


def measured_columns(found: Measures, rows: Int64s) -> dict[str, pa.Array]:
    """Return the columns of measures that all tables share."""
    return {name: float_column(getattr(found, name)[rows]) for name in ("share", "baseline_share", "lift", "g2")}


def float_column(values: Float64s) -> pa.Array:
    """Return single-precision numbers, with null in place of values that are not finite."""
    return pa.array(np.where(np.isfinite(values), values, np.nan).astype(np.float32), from_pandas=True)
