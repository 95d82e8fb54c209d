"""Descriptions of sets of sentences by their strongest patterns and values, and how well other sentences fit them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ops.arrays import Float64s, Int32s, Int64s
from ops.compiled import compiled
from ops.mine.baseline_counts import Baseline
from ops.mine.candidates import from_keys, of_kind, to_keys
from ops.mine.pattern_kinds import PatternKind
from ops.mine.pattern_rows import Chosen, chunks
from ops.mine.profile_rows import Values
from ops.mine.properties import Profiler
from ops.mine.sentence_sets import SentenceSets
from ops.mine.value_counts import occurrences_of
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences
from ops.statistics.association import place_in_group

TOP = 25


@dataclass(frozen=True)
class Features:
    """The features of several sets that are of one sort: patterns of one kind, or values of one property.

    Attributes:
        sets: the features of each set, as indices among all features, in the order in which their weights are added up,
            `[n]` in total.
        weights: the logarithm of each feature's lift in the set, `[n]`.
        of_rows: a function that takes rows of sentences and indices of features, and returns which of the sentences
            have each feature.
    """

    sets: Sequences
    weights: Float64s
    of_rows: Callable[[Int64s, Int64s], Occurrences]

    def add_evidence(self, first: int, rows: Int64s, wanted: Sequences, evidence: Float64s) -> None:
        """Add to each requested sentence's evidence for a set the weights of the set's features that the sentence has.

        Args:
            first: the index of the first set.
            rows: the rows of the sentences.
            wanted: for each set from the first one on, the requested sentences, as indices into `rows`.
            evidence: the evidence of each item of `wanted`, updated in place, `[items]`.
        """
        own = slice(self.sets.offsets[first], self.sets.offsets[first + len(wanted)])
        used, feature = np.unique(self.sets.items[own], return_inverse=True)
        if not len(used):
            return
        found = self.of_rows(rows, used.astype(np.int64))
        starts = self.sets.offsets[first : first + len(wanted) + 1] - own.start
        _add_evidence(
            feature, starts, self.weights[own], found.sentences, found.offsets, wanted.items, wanted.offsets,
            np.zeros(len(rows)), evidence,
        )  # fmt: skip


@dataclass(frozen=True)
class Representations:
    """The features of several sets of sentences, with one entry of `features` for each sort of features."""

    features: list[Features]

    def evidence(self, first: int, rows: Int64s, wanted: Sequences) -> Float64s:
        """Return the evidence that sentences belong to a set: the sum of the weights of the features they have.

        This is naive Bayes without absent features. The arguments are those of `Features.add_evidence`.
        """
        evidence = np.zeros(len(wanted.items))
        for features in self.features:
            features.add_evidence(first, rows, wanted, evidence)
        return evidence


def represent(
    candidates: pa.Table,
    kinds: dict[str, PatternKind],
    baseline: Baseline,
    sets: SentenceSets,
    profiler: Profiler,
    least: int,
    top: int = TOP,
) -> Representations:
    """Choose the strongest patterns of each kind and values of each property: those with the highest positive g2.

    Args:
        candidates: the sets' mined patterns, rows of `ops.mine.candidates`.
        kinds: the kinds of patterns that were mined.
        baseline: counts over the baseline's training part.
        sets: the sets' training sentences.
        profiler: counts the properties.
        least: minimum number of sentences of a set with a value.
        top: maximum number of patterns of a kind, and of values of a property, for each set.
    """
    patterns = [strongest_patterns(candidates, kind, baseline, sets, top) for kind in kinds.values()]
    return Representations([*patterns, *strongest_values(profiler, baseline, sets, least, top)])


def strongest_patterns(
    candidates: pa.Table, kind: PatternKind, baseline: Baseline, sets: SentenceSets, top: int = TOP
) -> Features:
    """Return the features that are patterns of one kind. Their weights are added up in the order of their ranks."""
    owners, patterns, weights = [np.zeros(0, np.int64)], [Sequences.from_lists([])], [np.zeros(0)]
    for first, stop, some in chunks(of_kind(candidates, kind.name, sets.number), sets.number):
        part = Chosen(some, kind, baseline, sets.sizes[first:stop], sets.inside[first:stop])
        g2 = part.measured.g2
        order = np.lexsort((-some.support, -g2, part.set_of))
        order = order[(place_in_group(part.set_of[order]) < top) & (g2[order] > 0)]
        owners.append(part.set_of[order] + first)
        patterns.append(some.patterns.take(some.sets.items[order]))
        weights.append(np.log(part.measured.lift[order]))
    keys = to_keys(Sequences.concatenate(patterns)).dictionary_encode()
    each, offsets = from_keys(keys.dictionary), np.searchsorted(np.concatenate(owners), np.arange(len(sets) + 1))

    def of_rows(rows: Int64s, which: Int64s) -> Occurrences:
        return kind.find(rows, each.take(which))

    return Features(Sequences(np.asarray(keys.indices), offsets), np.concatenate(weights), of_rows)


def strongest_values(
    profiler: Profiler, baseline: Baseline, sets: SentenceSets, least: int, top: int = TOP
) -> list[Features]:
    """Return the features that are values of properties, one entry for each property.

    Their weights are added up in the order of the values.
    """
    selection, features = profiler.select(sets.rows), []
    for own, counts in zip(profiler.properties, baseline.values, strict=True):
        if not own.is_feature:
            continue
        found = Values.count_out(own, selection, sets, counts, max(least, 1))
        found = found.where((found.rank < top) & (found.measured.g2 > 0))
        order = np.lexsort((found.value, found.set_of))
        offsets = np.searchsorted(found.set_of, np.arange(len(sets) + 1))

        def of_rows(rows: Int64s, which: Int64s, own=own) -> Occurrences:  # type: ignore[no-untyped-def]
            return occurrences_of(own.codes(profiler.select(rows)), which, len(own.values))

        values = Sequences(found.value[order].astype(np.int32), offsets)
        features.append(Features(values, np.log(found.measured.lift[order]), of_rows))
    return features


@compiled
def _add_evidence(
    feature: Int64s,
    starts: Int64s,
    weights: Float64s,
    sentences: Int32s,
    offsets: Int64s,
    wanted: Int32s,
    wanted_starts: Int64s,
    total: Float64s,
    evidence: Float64s,
) -> None:
    """Add up each set's weights for each sentence, in the order of the set's features.

    `total [sentences]` is scratch space and must be zero.
    """
    for number in range(starts.size - 1):
        for entry in range(starts[number], starts[number + 1]):
            for pair in range(offsets[feature[entry]], offsets[feature[entry] + 1]):
                total[sentences[pair]] += weights[entry]
        for place in range(wanted_starts[number], wanted_starts[number + 1]):
            evidence[place] += total[wanted[place]]
        for entry in range(starts[number], starts[number + 1]):
            for pair in range(offsets[feature[entry]], offsets[feature[entry] + 1]):
                total[sentences[pair]] = 0.0
