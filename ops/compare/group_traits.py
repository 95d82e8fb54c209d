"""Traits of groups of neurons: patterns and values that many neurons of one group prefer, but few other neurons."""

import numpy as np
import pyarrow as pa

from ops.arrays import Int32s, Int64s
from ops.statistics.association import measures, place_in_group
from ops.statistics.false_discovery import p_values, q_values

MOST_TRAITS = 20  # maximum number of traits of a group


def trait_rows(neuron: Int64s, traits: pa.Table, groups: Int32s) -> pa.Table:
    """Return the rows of `compare/group_traits` for one layer without the column `layer`, sorted by group and rank.

    Args:
        neuron: the neuron that prefers the trait of each row of `traits`, as its index in `groups`.
        traits: the columns `pole`, `kind` and `trait` (strings), with a row for each entry of `neuron`. The same neuron
            and trait must not occur twice.
        groups: each neuron's group, `[neurons]`.

    Returns:
        For each group, at most 20 traits that are more frequent in the group than outside, ranked by g2.
    """
    columns = ["pole", "kind", "trait"]
    table = traits.select(columns).append_column("group", pa.array(groups[neuron]))
    counted = table.group_by([*columns, "group"]).aggregate([([], "count_all")])
    everywhere = table.group_by(columns).aggregate([([], "count_all")]).rename_columns([*columns, "total"])
    joined = counted.join(everywhere, columns).sort_by([(c, "ascending") for c in ("group", *columns)])
    group = joined["group"].to_numpy()
    count, total = joined["count_all"].to_numpy(), joined["total"].to_numpy()
    size = np.bincount(groups, minlength=int(groups.max(initial=-1)) + 1)[group]
    measured = measures(count, size, total - count, len(groups) - size)
    q = q_values(p_values(measured.g2))
    order = np.lexsort((np.arange(len(group)), -measured.g2, group))
    order = order[measured.g2[order] > 0]
    rank = place_in_group(group[order])
    order, rank = order[rank < MOST_TRAITS], rank[rank < MOST_TRAITS]
    first = joined.take(pa.array(order))
    return pa.table(
        {
            "group": pa.array(group[order], pa.int32()),
            **{name: first[name] for name in columns},
            "count": count[order],
            "n": size[order],
            "share": measured.share[order].astype(np.float32),
            "other_share": np.nan_to_num(measured.baseline_share[order]).astype(np.float32),
            "g2": measured.g2[order].astype(np.float32),
            "q_value": q[order],
            "rank": pa.array(rank + 1, pa.int32()),
        }
    )
