"""The rows of a range of neurons in every table of `mine`: mined patterns compared with the baseline."""

from collections.abc import Iterator
from operator import itemgetter

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Int64s
from ops.mine.baseline_counts import Baseline, read_baselines
from ops.mine.findings import pattern_rows, profile_rows, without_neuron
from ops.mine.held_out_sets import OTHERS, SETS, Matcher
from ops.mine.mining import Mining
from ops.mine.naive_bayes import learn, score_sets
from ops.mine.properties import Profiler
from ops.mine.sentence_sets import SentenceSets, row_groups, sums_of_sets
from ops.patterns.sequences import Sequences
from ops.reducers.integer_sums import Sums
from ops.sampling import draw
from ops.statistics.like_area import LikeArea, intervals, pooled
from ops.topk.neurons import POLES, neuron_and_pole

# The columns of the area of each of `SETS` and of the excess, and the names of the ends of their intervals.
COLUMNS = (("auc", None), ("matched_auc", "matched"), ("random_auc", "random"), ("auc_excess", None))
MAX_OTHERS = 10_000  # of each half of the documents


class RangeTables:
    """Compares the candidates and properties of one range of neurons at a time with the baseline.

    `union` are the candidates of all ranges, and `totals` the counts of the baseline (see `read_baselines`).
    """

    def __init__(self, mining: Mining, union: pa.Table, totals: pa.Table) -> None:
        self.mining, self.profiler = mining, Profiler(mining.text, mining.options["nuisance"])
        self.baseline, self.halves = read_baselines(union, mining.kinds, self.profiler, totals)
        self.others = [self._others(half) for half in range(len(self.halves))]

    def of(self, candidates: pa.Table, number: Int64s, winners: Sequences) -> Iterator[tuple[str, Iterator[pa.Table]]]:
        """Yield the name of each table, and its row groups, none of which splits a neuron. Requested scores come last.

        The arguments are the results of `Mining.candidates` and `Mining.winners` for this range.
        """
        sets, o = self.mining.winner_sets(number, winners), self.mining.options
        floor, filters = o["min_count"], (o["productivity"], o["max_patterns"])
        tables = {
            "patterns": pattern_rows(candidates, self.mining.kinds.values(), self.baseline, sets, floor, *filters),
            "profiles": profile_rows(self.profiler, self.baseline, sets, floor),
            "means": mean_rows(self.profiler, self.baseline, sets),
        }
        for name, (owner, rows) in tables.items():
            yield name, self._groups(name, number[owner], rows)
        if self.mining.held_out is not None and not self.mining.are_random(number):
            drawn = self.mining.held_out.draw(number, winners)
            yield "scores", self._groups("scores", number, self.scores(candidates, number, drawn))

    def scores(self, candidates: pa.Table, number: Int64s, drawn: Sequences) -> pa.Table:
        """Score the sets drawn for each neuron and pole; return all columns but the neuron's.

        Each half of a set is scored by what was learned from its other half, and the scores of both are pooled.
        """
        halves = [self.half_scores(candidates, number, drawn, half) for half in range(len(self.halves))]
        of_halves, sizes = zip(*halves, strict=True)
        areas = [pooled(both) for both in zip(*of_halves, strict=True)]
        rows = [dict(zip(("n_winners", "n_baseline"), size, strict=True)) for size in np.sum(sizes, 0).tolist()]
        for i, row in enumerate(rows):
            of_sets, excess = intervals(areas[i * len(SETS) : (i + 1) * len(SETS)])
            for names, interval in zip(COLUMNS, (*of_sets, excess), strict=True):
                row |= interval.columns(*names)
        return schema.table(without_neuron("scores"), rows)

    def half_scores(
        self, candidates: pa.Table, number: Int64s, drawn: Sequences, half: int
    ) -> tuple[list[LikeArea], Int64s]:
        """Score one half of the sets by the patterns and values of the other half.

        The result is the area of each set, and the number of winners and others of each neuron and pole, `[n, 2]`.
        """
        mining, floor, learned = self.mining, self.mining.options["min_count"], 1 - half
        sets = mining.drawn_sets(number, drawn.where(mining.half[drawn.items] == learned))
        training = self.halves[learned]
        features = learn(candidates, mining.kinds, training, sets, self.profiler, floor, learned)
        tested = drawn.where(mining.half[drawn.items] == half)
        others = self.others[half].similar(tested)
        sizes = np.stack([tested.lengths[:: len(SETS)], others.rows.lengths[:: len(SETS)]], 1)
        return score_sets(features, tested, others, mining.sentences.doc), sizes

    def _others(self, half: int) -> Matcher:
        """Return what finds baseline sentences of one half of the documents to compare winners with."""
        store = self.mining.sentences
        rows = np.flatnonzero(store.baseline & (self.mining.half == half))
        drawn = rows[draw(len(rows), MAX_OTHERS, self.mining.seed, OTHERS, half)]
        return Matcher(drawn, np.asarray(store.dataset), store.lengths, store.longest)

    def _groups(self, name: str, number: Int64s, rows: pa.Table) -> Iterator[pa.Table]:
        """Return a table's rows in row groups, with the columns of the neuron and pole with this number in each row."""
        neuron, pole = neuron_and_pole(number)
        layer, unit = self.mining.neurons.layer_and_unit(neuron)
        columns = {"layer": layer, "unit": unit, "pole": pa.array(POLES).take(pole)}
        for column, values in columns.items():
            rows = rows.append_column(column, pa.array(values))
        return row_groups(rows.select(schema.schema(name).names), neuron, schema.group_rows(name))


def mean_rows(profiler: Profiler, baseline: Baseline, sets: SentenceSets) -> tuple[Int64s, pa.Table]:
    """Return the means of sets of winners, sorted by set and property.

    The result is the index of each row's set, and all columns of `means/` except those of the neuron.
    """
    selection, rows = profiler.select(sets.rows), []
    for name in sorted(profiler.numbers):
        numbers = np.asarray(profiler.numbers[name](selection), np.int64)
        winners, shared = (
            np.stack([sums_of_sets(counted * numbers**power, sets.members) for power in range(3)], 1).tolist()
            for counted in (1, sets.in_baseline)
        )
        for number, (own, inside) in enumerate(zip(winners, shared, strict=True)):
            mine, other = Sums(*own), baseline.sums[name].without(Sums(*inside))
            row = {"set": number, "property": name, "n": mine.n, "mean": mine.mean, "std": mine.std}
            rows.append(row | {"baseline_mean": other.mean, "baseline_std": other.std})
    rows.sort(key=itemgetter("set"))
    return np.array([row["set"] for row in rows], np.int64), schema.table(without_neuron("means"), rows)
