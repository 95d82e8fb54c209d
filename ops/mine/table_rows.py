"""A neuron's rows of the published tables, from its counts and the baseline's."""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ops.mine.baseline_counts import Baseline
from ops.mine.candidates import Winners, from_keys
from ops.mine.pattern_kinds import PatternKind
from ops.mine.properties import MAX_VALUES, Profiler
from ops.mine.value_counts import profile
from ops.statistics.association import Measures, measures, rank_patterns
from ops.statistics.false_discovery import q_values, selected_p_values


def pattern_rows(
    candidates: pa.Table,
    kind: PatternKind,
    baseline: Baseline,
    n_winners: int,
    n_baseline: int,
    min_support: int,
    productivity: float,
    max_patterns: int,
) -> pa.Table:
    """Return one set of winners' patterns of one kind, ranked, without the columns that name the neuron.

    False discovery rates are over all mined patterns, before the productivity filter and the cap.

    Args:
        candidates: rows of `ops.mine.candidates` of this set and kind.
        n_winners, n_baseline: how many winners there are, and baseline sentences that are not among them.
        min_support: the support that mining asked for.
        productivity, max_patterns: as the options of `mine`; 0 switches either off.
    """
    patterns = from_keys(candidates["key"])
    support, own, docs = (candidates[name].to_numpy() for name in ("support", "own", "docs"))
    elsewhere = baseline.support(kind.name, candidates["key"]) - own if len(patterns) else support
    found = measures(support, n_winners, elsewhere, n_baseline)
    q = np.full(len(patterns), np.nan)
    if n_baseline and len(patterns):
        q = q_values(selected_p_values(support, n_winners, elsewhere, n_baseline, min_support))
    keep = np.arange(len(patterns))
    if productivity and len(patterns):
        keep = np.flatnonzero(kind.productive(patterns, found.lift, productivity))
    texts, items = kind.texts_and_items(patterns.take(keep))
    order = rank_patterns(found.g2[keep], support[keep], texts)
    if max_patterns:
        order = order[:max_patterns]
    chosen = keep[order]
    return pa.table(
        {
            "kind": pa.array([kind.name] * len(order), pa.string()),
            "pattern": pa.array([texts[i] for i in order], pa.string()),
            "items": pa.array([items[i] for i in order], pa.list_(pa.string())),
            "size": pa.array([len(items[i]) for i in order], pa.int32()),
            "support": pa.array(support[chosen], pa.int32()),
            **_measured(found, chosen),
            "lift_low": _float(found.lift_low[chosen]),
            "q_value": pa.array(q[chosen], pa.float64(), from_pandas=True),
            "docs": pa.array(docs[chosen], pa.int32()),
            "rank": pa.array(np.arange(1, len(order) + 1), pa.int32()),
        }
    )


def profile_rows(profiler: Profiler, baseline: Baseline, winners: Winners, min_count: int) -> pa.Table:
    """Return one set of winners' profile, properties in the order of their names."""
    counts, own = profiler.count_winners(winners.rows, winners.in_baseline)
    tables = []
    for property_, count, inside, total in sorted(
        zip(profiler.properties, counts, own, baseline.values, strict=True), key=lambda p: p[0].name
    ):
        if not count.n:
            continue
        cut = (min_count, MAX_VALUES) if property_.rare_left_out else (0, 0)
        found = profile(count, total.without(inside), *cut)
        rows = len(found.value)
        every = np.arange(rows)
        tables.append(
            pa.table(
                {
                    "property": pa.array([property_.name] * rows, pa.string()),
                    "value": pa.array([property_.values[v] for v in found.value], pa.string()),
                    "count": pa.array(found.count),
                    "n": pa.array(np.full(rows, found.n, np.int64)),
                    **_measured(found.measures, every),
                    "baseline_n": pa.array(np.full(rows, found.baseline_n, np.int64)),
                    "rank": pa.array(every + 1, pa.int32()),
                }
            )
        )
    return pa.concat_tables(tables)


def mean_rows(profiler: Profiler, baseline: Baseline, winners: Winners) -> pa.Table:
    """Return the means of one set of winners, in the order of their names."""
    found, own = profiler.sums(winners.rows), profiler.sums(winners.rows[winners.in_baseline])
    names = sorted(found)
    others = [baseline.sums[name].without(own[name]) for name in names]
    return pa.table(
        {
            "property": pa.array(names, pa.string()),
            "n": pa.array([found[name].n for name in names], pa.int64()),
            "mean": pa.array([found[name].mean for name in names], pa.float64()),
            "std": pa.array([found[name].std for name in names], pa.float64()),
            "baseline_mean": pa.array([o.mean for o in others], pa.float64(), from_pandas=True),
            "baseline_std": pa.array([o.std for o in others], pa.float64(), from_pandas=True),
        }
    )


def row_groups(neurons: Iterable[pa.Table], limit: int) -> Iterator[pa.Table]:
    """Return the tables of single neurons joined to row groups of at most `limit` rows, no neuron cut in two.

    A neuron with more rows than that is a row group by itself.

    >>> [group.num_rows for group in row_groups([pa.table({"rank": range(n)}) for n in (2, 3, 9, 1)], 5)]
    [5, 9, 1]
    """
    waiting: list[pa.Table] = []
    for table in neurons:
        if waiting and sum(t.num_rows for t in waiting) + table.num_rows > limit:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting = []
        waiting.append(table)
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def _measured(found: Measures, rows: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
    return {name: _float(getattr(found, name)[rows]) for name in ("share", "baseline_share", "lift", "g2")}


def _float(values: npt.NDArray[np.float64]) -> pa.Array:
    return pa.array(values.astype(np.float32), from_pandas=True)
