"""The rows of `profiles/`: the property values of several sets of winners, compared with the baseline."""

import numpy as np
import pyarrow as pa

from ops.arrays import Int64s
from ops.mine.baseline_counts import Baseline, BaselineValues
from ops.mine.findings import Findings, effects, expected_shares, finding_rows, ranked, rates
from ops.mine.properties import Profiler, Property, Selection
from ops.mine.sentence_sets import SentenceSets
from ops.mine.value_counts import count_in_sets
from ops.patterns.mined import COUNTS
from ops.statistics.association import place_in_group
from ops.statistics.design_effect import expected_effects

MAX_VALUES = 200  # of a property whose rare values are omitted, for each set


def profile_rows(profiler: Profiler, baseline: Baseline, sets: SentenceSets, min_count: int) -> tuple[Int64s, pa.Table]:
    """Return the profiles of sets of winners, sorted by set, property and rank.

    The result is the index of each row's set, and all columns of `profiles/` except those of the neuron. Of a property
    whose rare values are omitted, at least `min_count` winners have a value.
    """
    selection = profiler.select(sets.rows)
    owners, tables = [], []
    for property_, counts in sorted(zip(profiler.properties, baseline.values, strict=True), key=lambda p: p[0].name):
        least = min_count if property_.rare_left_out else 0
        findings = value_findings(property_, selection, sets, counts, least)
        q, rank = rates(findings, least), place_in_group(findings.set_of)
        if property_.rare_left_out:
            # Rates are computed over all values that enough winners have, before the cap.
            first = rank < MAX_VALUES
            findings, q, rank = findings.take(first), q[first], rank[first]
        used, which = np.unique(findings.item, return_inverse=True)
        texts = pa.array([property_.values[value] for value in used], pa.string()).take(pa.array(which))
        columns = {"property": pa.repeat(property_.name, len(rank)), "value": texts}
        tables.append(finding_rows("profiles", findings, q, rank, columns))
        owners.append(findings.set_of)
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return owner[order], pa.concat_tables(tables).take(order)


def value_findings(
    property_: Property, selection: Selection, sets: SentenceSets, baseline: BaselineValues, least: int
) -> Findings:
    """Return the values that at least `least` sentences, or tokens, of a set have, sorted by set and rank.

    If `least` is 0, return all values that the set or the baseline has. A set to which the property does not apply gets
    none.
    """
    n_values = len(property_.values)
    counted = count_in_sets(
        property_.codes(selection), sets.members, sets.in_baseline, sets.documents, n_values, property_.every_sentence
    )
    set_of, value, counts = counted.set_of, counted.value, counted.counts
    if not least:
        # All values that the set or the baseline has are few enough for a complete table.
        table = np.zeros((len(sets), n_values), COUNTS)
        table[set_of, value] = counts
        set_of, value = np.nonzero((table["support"] > 0) | (baseline.count > 0))
        counts = table[set_of, value]
    keep = np.flatnonzero((counts["support"] >= least) & (counted.n[set_of] > 0))
    set_of, value, counts = set_of[keep], value[keep], counts[keep]
    outside = baseline.n - counted.marked_n
    findings = Findings.compare(set_of, value, counts, counted.n[set_of], baseline.count[value], outside[set_of])
    effect = effects(findings, counts, counted.n_documents, counted.n_squares)
    if len(baseline.squares):
        of_values = baseline.count[value], baseline.n, baseline.squares[value], baseline.products[value]
        lacking = expected_effects(*of_values, baseline.n_squares, findings.n, counted.n_squares[set_of])
        fewer = findings.support < findings.n * expected_shares(findings)
        effect = np.where(fewer, np.maximum(effect, lacking), effect)
    return findings._replace(design_effect=effect).take(ranked(findings, value)[0])
