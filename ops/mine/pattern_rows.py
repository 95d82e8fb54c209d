"""The rows of `patterns/`: patterns of several sets of winners, compared with the baseline, filtered and ranked."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s
from ops.mine.baseline_counts import Baseline
from ops.mine.candidates import Candidates, least_supports, of_kind, read_candidates
from ops.mine.findings import Findings, effects, finding_rows, ranked, rates, without_neuron
from ops.mine.pattern_kinds import PatternKind
from ops.mine.sentence_sets import SentenceSets, spans_within
from ops.schema import concatenate

MOST_CANDIDATES = 200_000  # in memory at once; a set with more is measured by itself


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
    return owner[order], concatenate(without_neuron("patterns"), tables).take(order)


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
