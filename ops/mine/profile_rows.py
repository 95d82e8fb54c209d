"""The rows of `profiles/`: what values the properties of several sets of winners have, against the baseline."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ops.mine.baseline_counts import Baseline
from ops.mine.pattern_rows import measured_columns
from ops.mine.properties import MAX_VALUES, Profiler, Property, Selection
from ops.mine.sentence_sets import SentenceSets
from ops.mine.value_counts import ValueCounts, count_in_sets
from ops.statistics.association import Measures, measures, place_in_group

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Values:
    """Values of one property in several sets of sentences, a row each, by set, g2 and count descending, and value.

    `set_of`, `value`, `count`, `n`, `baseline_count` and `baseline_n` are `[rows]`; `rank` counts from 0 in each set.
    """

    set_of: Longs
    value: Longs
    count: Longs
    n: Longs
    baseline_count: Longs
    baseline_n: Longs
    rank: Longs
    measured: Measures

    @classmethod
    def count_out(
        cls, own: Property, selection: Selection, sets: SentenceSets, baseline: ValueCounts, least: int
    ) -> "Values":
        """Return the values that at least so many sentences, or their tokens, of a set have.

        Where `least` is 0 these are all that the set or the baseline has; none of a set to which the property does
        not apply.

        Args:
            own: the property.
            selection: the sentences of all sets.
            sets: the sets.
            baseline: the property's counts over the baseline.
            least: the fewest.
        """
        n_values = len(own.values)
        found = count_in_sets(own.codes(selection), sets.members, sets.in_baseline, n_values, own.every_sentence)
        set_of, value, count, inside = found.set_of, found.value, found.count, found.marked
        if not least:
            # Every value that the set or the baseline has, few enough for a table of them all.
            table = np.zeros((2, len(sets), n_values), np.int64)
            table[0, set_of, value], table[1, set_of, value] = count, inside
            set_of, value = np.nonzero((table[0] > 0) | (baseline.count > 0))
            count, inside = table[0, set_of, value], table[1, set_of, value]
        keep = np.flatnonzero((count >= least) & (found.n[set_of] > 0))
        set_of, value, count, inside = set_of[keep], value[keep], count[keep], inside[keep]
        n, baseline_n = found.n[set_of], baseline.n - found.marked_n[set_of]
        elsewhere = baseline.count[value] - inside
        measured = measures(count, n, elsewhere, baseline_n)
        order = np.lexsort((value, -count, -measured.g2, set_of))
        rank = place_in_group(set_of[order])
        return cls(
            set_of[order],
            value[order],
            count[order],
            n[order],
            elsewhere[order],
            baseline_n[order],
            rank,
            Measures(**{name: column[order] for name, column in vars(measured).items()}),
        )

    def texts(self, own: Property) -> pa.Array:
        """Return the names of the values."""
        used, which = np.unique(self.value, return_inverse=True)
        return pa.array([own.values[value] for value in used], pa.string()).take(which)

    def where(self, keep: npt.NDArray[np.bool_]) -> "Values":
        """Return some of the rows."""
        columns = {name: column[keep] for name, column in vars(self).items() if name != "measured"}
        return Values(**columns, measured=Measures(**{n: column[keep] for n, column in vars(self.measured).items()}))


def profile_rows(profiler: Profiler, baseline: Baseline, sets: SentenceSets, min_count: int) -> tuple[Longs, pa.Table]:
    """Return the profiles of sets of winners, by set, property and rank: each row's set, and all other columns."""
    selection = profiler.select(sets.rows)
    owners, tables = [], []
    for own, counts in sorted(zip(profiler.properties, baseline.values, strict=True), key=lambda p: p[0].name):
        found = Values.count_out(own, selection, sets, counts, min_count if own.rare_left_out else 0)
        if own.rare_left_out:
            found = found.where(found.rank < MAX_VALUES)
        rows = len(found.value)
        owners.append(found.set_of)
        tables.append(
            pa.table(
                {
                    "property": pa.repeat(own.name, rows),
                    "value": found.texts(own),
                    "count": pa.array(found.count),
                    "n": pa.array(found.n),
                    **measured_columns(found.measured, np.arange(rows)),
                    "baseline_n": pa.array(found.baseline_n),
                    "rank": pa.array(found.rank + 1, pa.int32()),
                }
            )
        )
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return owner[order], pa.concat_tables(tables).take(order)
