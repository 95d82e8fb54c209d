"""Naive Bayes classifiers of sets of sentences, by their strongest patterns and values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ops.arrays import Float64s, Int32s, Int64s, Integers, distinct
from ops.compiled import compiled
from ops.mine.baseline_counts import Baseline
from ops.mine.candidates import from_keys, to_keys
from ops.mine.findings import pattern_findings, value_findings
from ops.mine.held_out_sets import LikeRows
from ops.mine.pattern_kinds import PatternKind
from ops.mine.properties import Profiler, Property
from ops.mine.sentence_sets import SentenceSets, spans_within
from ops.mine.value_counts import occurrences_of
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences
from ops.statistics.association import place_in_group
from ops.statistics.like_area import LikeArea, like_area

TOP = 25  # maximum number of patterns of a kind, and of values of a property, for each set
MOST_WANTED = 1_000_000  # sentences, counting repetitions, that are scored at once


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


def learn(
    candidates: pa.Table, kinds: Mapping[str, PatternKind], baseline: Baseline, sets: SentenceSets, profiler: Profiler,
    least: int, half: int | None = None,
) -> list[Features]:  # fmt: skip
    """Return the strongest patterns of each kind and values of each property: those with the highest positive g2.

    Args:
        candidates: the sets' mined patterns, rows of `ops.mine.candidates`.
        baseline: counts over the baseline from which the sets are learned.
        least: minimum number of sentences of a set with a pattern or value.
        half: the half of the documents, 0 or 1, to which `baseline` and `sets` are limited; None if they are not.
    """
    patterns = [_strongest_patterns(candidates, kind, baseline, sets, least, half) for kind in kinds.values()]
    return [*patterns, *_strongest_values(profiler, baseline, sets, least)]


def evidence(learned: list[Features], first: int, rows: Int64s, wanted: Sequences) -> Float64s:
    """Return the evidence that sentences belong to sets: the sum of the weights of the set's features they have.

    `wanted` are, for each set from the one with index `first` on, the requested sentences, as indices into `rows`.
    """
    result, total = np.zeros(len(wanted.items)), np.zeros(len(rows))
    for features in learned:
        offsets = features.sets.offsets[first : first + len(wanted) + 1]
        own = slice(offsets[0], offsets[-1])
        used, feature = np.unique(features.sets.items[own], return_inverse=True)
        if len(used):
            found = features.of_rows(rows, used.astype(np.int64))
            _add_evidence(
                feature, offsets - own.start, features.weights[own], found.sentences, found.offsets, wanted.items,
                wanted.offsets, total, result,
            )  # fmt: skip
    return result


def _strongest_patterns(
    candidates: pa.Table, kind: PatternKind, baseline: Baseline, sets: SentenceSets, least: int, half: int | None
) -> Features:
    """Return the features that are patterns of one kind. Their weights are added up in the order of their ranks."""
    owners, patterns, lifts = [np.zeros(0, np.int64)], [Sequences.from_lists([])], [np.zeros(0)]
    for chosen, findings in pattern_findings(candidates, kind, baseline, sets, least, half):
        preferred = np.flatnonzero(findings.g2 > 0)
        order = preferred[
            np.lexsort([-column[preferred] for column in (findings.support, findings.g2, -findings.set_of)])
        ]
        strongest = order[place_in_group(findings.set_of[order]) < TOP]
        owners.append(findings.set_of[strongest])
        patterns.append(chosen.patterns.take(findings.item[strongest]))
        lifts.append(findings.lift[strongest])
    keys = to_keys(Sequences.concatenate(patterns)).dictionary_encode()
    each, offsets = from_keys(keys.dictionary), np.searchsorted(np.concatenate(owners), np.arange(len(sets) + 1))

    def of_rows(rows: Int64s, which: Int64s) -> Occurrences:
        return kind.finder(each.take(which))(rows)

    return Features(Sequences(np.asarray(keys.indices), offsets), np.log(np.concatenate(lifts)), of_rows)


def _strongest_values(profiler: Profiler, baseline: Baseline, sets: SentenceSets, least: int) -> Iterator[Features]:
    """Yield the features that are values of properties, except nuisance, by property.

    The weights of a property's values are added up in the order of the values.
    """
    selection = profiler.select(sets.rows)
    for own, counts in zip(profiler.properties, baseline.values, strict=True):
        if not own.is_feature or own.is_nuisance:
            continue
        findings = value_findings(own, selection, sets, counts, max(least, 1))
        findings = findings.take((place_in_group(findings.set_of) < TOP) & (findings.g2 > 0))
        findings = findings.take(np.lexsort((findings.item, findings.set_of)))
        offsets = np.searchsorted(findings.set_of, np.arange(len(sets) + 1))

        def of_rows(rows: Int64s, which: Int64s, own: Property = own) -> Occurrences:
            return occurrences_of(own.codes(profiler.select(rows)), which, len(own.values))

        yield Features(Sequences(findings.item.astype(np.int32), offsets), np.log(findings.lift), of_rows)


def score_sets(learned: list[Features], held_out: Sequences, others: LikeRows, documents: Integers) -> list[LikeArea]:
    """Return, for each set, the area under the ROC curve of its held-out sentences against similar other sentences.

    Sentences are ranked by their `evidence` for the set: naive Bayes without absent features.

    Args:
        learned: the features of all sets, learned from their training sentences.
        held_out: the rows of each set's held-out sentences, which were not used for learning.
        others: similar rows outside each set, from which the held-out sentences are distinguished.
    """
    areas: list[LikeArea] = []
    for start, stop in spans_within(held_out.offsets + others.rows.offsets, MOST_WANTED):
        sides = []
        for sets in (held_out, others.rows):
            some = sets.take(np.arange(start, stop))
            rows, items = distinct(some.items)
            wanted = Sequences(items.astype(np.int32), some.offsets)
            columns = evidence(learned, start, rows, wanted), np.asarray(documents)[some.items]
            sides += [np.split(column, some.offsets[1:-1]) for column in columns]
        for number, (above, of_above, below, of_below) in enumerate(zip(*sides, strict=True), start):
            winners = slice(*held_out.offsets[number : number + 2])
            areas.append(like_area(above, below, others.first[winners], others.stop[winners], of_above, of_below))
    return areas


@compiled
def _add_evidence(
    feature: Int64s, starts: Int64s, weights: Float64s, sentences: Int32s, offsets: Int64s, wanted: Int32s,
    wanted_starts: Int64s, total: Float64s, evidence: Float64s,
) -> None:  # fmt: skip
    """Add up each set's weights for each sentence, in the order of the set's features.

    `total [sentences]` is scratch space and must be zero.
    """
    for number in range(starts.size - 1):
        for entry in range(starts[number], starts[number + 1]):
            for pair in range(offsets[feature[entry]], offsets[feature[entry] + 1]):
                total[sentences[pair]] += weights[entry]
        for item in range(wanted_starts[number], wanted_starts[number + 1]):
            evidence[item] += total[wanted[item]]
        for entry in range(starts[number], starts[number + 1]):
            for pair in range(offsets[feature[entry]], offsets[feature[entry] + 1]):
                total[sentences[pair]] = 0.0
