"""The rows of `profiles/`: the property values of several sets of winners, compared with the baseline."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ops.arrays import Bools, Float64s, Int64s
from ops.mine.baseline_counts import Baseline
from ops.mine.pattern_rows import float_column, measured_columns
from ops.mine.properties import Profiler, Property, Selection
from ops.mine.sentence_sets import SentenceSets
from ops.mine.value_counts import ValueCounts, count_in_sets
from ops.statistics.association import Measures, measures, place_in_group
from ops.statistics.design_effect import design_effects, expected_effects
from ops.statistics.false_discovery import q_values, selected_p_values

MAX_VALUES = 200


@dataclass(frozen=True)
class Values:
    """The values of one property in several sets of sentences, with a row for each set and value.

    Rows are sorted by set, then by g2 and count, both descending, and then by value. `set_of`, `value`, `count`, `n`,
    `baseline_count`, `baseline_n`, `docs` (the number of documents of the count), and `design_effect` are `[rows]`.
    `rank` counts from 0 in each set.
    """

    set_of: Int64s
    value: Int64s
    count: Int64s
    n: Int64s
    baseline_count: Int64s
    baseline_n: Int64s
    docs: Int64s
    design_effect: Float64s
    rank: Int64s
    measured: Measures

    @classmethod
    def count_out(
        cls, own: Property, selection: Selection, sets: SentenceSets, baseline: ValueCounts, least: int
    ) -> "Values":
        """Return the values that at least `least` sentences, or tokens, of a set have.

        If `least` is 0, return all values that the set or the baseline has. A set to which the property does not apply
        gets none.

        Args:
            own: the property.
            selection: the sentences of all sets.
            sets: the sets.
            baseline: the property's counts over the baseline.
            least: the minimum count of a value.
        """
        n_values = len(own.values)
        found = count_in_sets(
            own.codes(selection), sets.members, sets.in_baseline, sets.documents, n_values, own.every_sentence
        )
        set_of, value = found.set_of, found.value
        counts = np.stack([found.count, found.marked, found.documents, found.squares, found.products])
        if not least:
            # All values that the set or the baseline has are few enough for a complete table.
            table = np.zeros((len(counts), len(sets), n_values), np.int64)
            table[:, set_of, value] = counts
            set_of, value = np.nonzero((table[0] > 0) | (baseline.count > 0))
            counts = table[:, set_of, value]
        keep = np.flatnonzero((counts[0] >= least) & (found.n[set_of] > 0))
        set_of, value = set_of[keep], value[keep]
        count, inside, docs, squares, products = counts[:, keep]
        n, baseline_n = found.n[set_of], baseline.n - found.marked_n[set_of]
        elsewhere = baseline.count[value] - inside
        measured = measures(count, n, elsewhere, baseline_n)
        expected = (count + elsewhere) / (n + baseline_n)
        n_documents, n_squares = found.n_documents[set_of], found.n_squares[set_of]
        effect = design_effects(count, n, expected, docs, squares, products, n_documents, n_squares)
        if len(baseline.squares):
            of_values = baseline.count[value], baseline.n, baseline.squares[value], baseline.products[value]
            lacking = expected_effects(*of_values, baseline.n_squares, n, n_squares)
            effect = np.where(count < n * expected, np.maximum(effect, lacking), effect)
        order = np.lexsort((value, -count, -measured.g2, set_of))
        rank = place_in_group(set_of[order])
        return cls(
            set_of[order],
            value[order],
            count[order],
            n[order],
            elsewhere[order],
            baseline_n[order],
            docs[order],
            effect[order],
            rank,
            Measures(**{name: column[order] for name, column in vars(measured).items()}),
        )

    def q_values(self, least: int) -> Float64s:
        """Return each row's false discovery rate within its set; NaN without a baseline.

        `least` is the minimum count that was required. If it is above 0, p-values are computed by `selected_p_values`.
        """
        q, has = np.full(len(self.value), np.nan), self.baseline_n > 0
        every = (self.count, self.n, self.baseline_count, self.baseline_n, self.design_effect)
        count, n, baseline_count, baseline_n, effect = (column[has] for column in every)
        p = selected_p_values(count, n, baseline_count, baseline_n, least, effect)
        q[has] = q_values(p, self.set_of[has])
        return q

    def texts(self, own: Property) -> pa.Array:
        """Return the names of the values."""
        used, which = np.unique(self.value, return_inverse=True)
        return pa.array([own.values[value] for value in used], pa.string()).take(which)

    def where(self, keep: Bools) -> "Values":
        """Return some of the rows."""
        columns = {name: column[keep] for name, column in vars(self).items() if name != "measured"}
        return Values(**columns, measured=Measures(**{n: column[keep] for n, column in vars(self.measured).items()}))


def profile_rows(
    profiler: Profiler, baseline: Baseline, sets: SentenceSets, min_count: int, max_values: int = MAX_VALUES
) -> tuple[Int64s, pa.Table]:
    """Return the profiles of sets of winners, sorted by set, property and rank.

    The result is the index of each row's set, and all columns of `profiles/` except those of the neuron.

    Args:
        profiler: counts the properties.
        baseline: the baseline's counts.
        sets: the sets.
        min_count: minimum number of winners with a value, for a property whose rare values are omitted.
        max_values: maximum number of values of such a property for each set.
    """
    selection = profiler.select(sets.rows)
    owners, tables = [], []
    for own, counts in sorted(zip(profiler.properties, baseline.values, strict=True), key=lambda p: p[0].name):
        least = min_count if own.rare_left_out else 0
        found = Values.count_out(own, selection, sets, counts, least)
        q = found.q_values(least)
        if own.rare_left_out:
            # Rates are computed over all values that enough winners have, before the cap.
            q, found = q[found.rank < max_values], found.where(found.rank < max_values)
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
                    "design_effect": float_column(found.design_effect),
                    "q_value": pa.array(q, pa.float64(), from_pandas=True),
                    "docs": pa.array(found.docs, pa.int32()),
                    "rank": pa.array(found.rank + 1, pa.int32()),
                }
            )
        )
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return owner[order], pa.concat_tables(tables).take(order)
