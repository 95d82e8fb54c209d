"""What a set of sentences is described by, its strongest patterns and values, and how well others fit them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ops.mine.baseline_counts import Baseline
from ops.mine.candidates import Winners, from_keys
from ops.mine.pattern_kinds import PatternKind
from ops.mine.properties import Feature, Profiler
from ops.mine.value_counts import profile
from ops.patterns.sequences import Sequences
from ops.statistics.association import measures

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TOP = 25


@dataclass(frozen=True)
class Representation:
    """The features of a set of sentences, each with the logarithm of its lift as weight.

    Attributes:
        patterns: of each kind, the patterns and their weights.
        values: of each property of sentences, the weight of each of its values; zero for those that are no feature.
    """

    patterns: dict[str, tuple[Sequences, Floats]]
    values: dict[str, Floats]

    def evidence(self, rows: Longs, kinds: dict[str, PatternKind], profiler: Profiler) -> Floats:
        """Return how much speaks for each sentence being one of the set: the weights of the features it has, added up.

        That is naive Bayes without the features that are absent.

        Args:
            rows: the sentences, `[sentences]`.
            kinds: the kinds of patterns, by name, that `represent` was given.
            profiler: the one that `represent` was given.
        """
        total = np.zeros(len(rows))
        for name, (patterns, weights) in self.patterns.items():
            if len(patterns):
                found = kinds[name].find(rows, patterns)
                total += np.bincount(found.sentences, np.repeat(weights, found.support()), minlength=len(rows))
        selection = profiler.select(rows)
        for feature in profiler.properties:
            if feature.name in self.values and isinstance(feature, Feature):
                total += feature.weigh(selection, self.values[feature.name])
        return total


def represent(
    candidates: pa.Table,
    kinds: dict[str, PatternKind],
    baseline: Baseline,
    winners: Winners,
    profiler: Profiler,
    least: int,
) -> Representation:
    """Pick the patterns and values that stand out: positive g2, the strongest 25 of each kind and property.

    Args:
        candidates: the set's mined patterns, rows of `ops.mine.candidates`.
        baseline: counts over the baseline's training part.
        winners: the set's training sentences.
        least: winners that a value needs.
    """
    n1, n2 = len(winners.rows), baseline.sentences - int(winners.in_baseline.sum())
    patterns = {}
    for name, kind in kinds.items():
        own = candidates.filter(pc.equal(candidates["kind"], kind.name))
        found = from_keys(own["key"])
        if not len(found) or not n2:
            continue
        support, inside = own["support"].to_numpy(), own["own"].to_numpy()
        measured = measures(support, n1, baseline.support(name, own["key"]) - inside, n2)
        order = np.lexsort((np.arange(len(support)), -support, -measured.g2))[:TOP]
        order = order[measured.g2[order] > 0]
        patterns[name] = (found.take(order), np.log(measured.lift[order]))
    values = {}
    counts, own_counts = profiler.count_winners(winners.rows, winners.in_baseline)
    for property_, count, inside_counts, total in zip(
        profiler.properties, counts, own_counts, baseline.values, strict=True
    ):
        if not isinstance(property_, Feature) or not count.n or not total.without(inside_counts).n:
            continue
        row = profile(count, total.without(inside_counts), least, TOP)
        chosen = row.measures.g2 > 0
        if chosen.any():
            weights = np.zeros(len(property_.values))
            weights[row.value[chosen]] = np.log(row.measures.lift[chosen])
            values[property_.name] = weights
    return Representation(patterns, values)
