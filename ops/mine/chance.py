"""How many neurons have a finding, and how many would by chance, estimated from random sets mined like winners."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Int64s
from ops.statistics.false_discovery import description_rates
from ops.statistics.interval import Interval, wilson
from ops.topk.neurons import Neurons, neuron_and_pole

RATE = 0.05  # the false discovery rate of a finding must be below this
FAMILIES = {"patterns": "kind", "profiles": "property"}
WHOLE = "all"  # the source of findings whose rate is controlled over all families of a set's complete description
# Random sets are numbered as if they belonged to further neurons after the last one. Each such neuron has two sets,
# one drawn in each of these ways.
REAL, DRAWN = "neurons", ("uniform", "documents")
SCHEMA = pa.schema(
    [("source", pa.string()), ("family", pa.string()), ("drawn", pa.string()), ("n", pa.int64()), ("found", pa.int64())]
)


def count_findings(tables: Mapping[str, Sequence[pa.Table]], neurons: Neurons, number: Int64s) -> pa.Table:
    """Return, for each family of tests, the number of sets with a finding, as rows of `SCHEMA`.

    A finding has a false discovery rate below 0.05 and a lift above 1. `tables` are the rows of each table of
    `FAMILIES`, in parts, and `number [sets]` the `set_number` of every set, both of neurons and of random sets.
    """
    columns: list[tuple[Int64s, list[str], np.ndarray, np.ndarray]] = []
    for source, column in FAMILIES.items():
        for rows in tables[source]:
            names = [f"{source}\t{name}" for name in rows[column].to_pylist()]
            columns.append((neurons.set_numbers(rows), names, rows["q_value"].to_numpy(), rows["lift"].to_numpy()))
    owner = np.concatenate([np.zeros(0, np.int64), *(sets for sets, *_ in columns)])
    each, family = np.unique([name for _, names, *_ in columns for name in names], return_inverse=True)
    q, lift = (np.concatenate([np.zeros(0), *(part[column] for part in columns)]) for column in (2, 3))
    with np.errstate(invalid="ignore"):
        preferred = lift > 1
        sure, described = preferred & (q < RATE), preferred & (description_rates(q, family, owner) < RATE)
    counts = []
    neuron, way = neuron_and_pole(number)
    ways = {REAL: neuron < len(neurons)} | {name: (neuron >= len(neurons)) & (way == i) for i, name in enumerate(DRAWN)}
    for drawn, sets in ((name, number[mask]) for name, mask in ways.items() if mask.any() or name == REAL):
        of_way = np.isin(owner, sets)
        counts.append((WHOLE, WHOLE, drawn, len(sets), len(np.unique(owner[of_way & described]))))
        for index, name in enumerate(each.tolist()):
            showing = np.unique(owner[of_way & sure & (family == index)])
            counts.append((*name.split("\t"), drawn, len(sets), len(showing)))
    return schema.table(SCHEMA, [dict(zip(SCHEMA.names, row, strict=True)) for row in counts])


def chance_rows(parts: Iterable[pa.Table]) -> pa.Table:
    """Return the rows of `chance/` from the findings of all sets; `expected` follows from the share of random sets."""
    whole = pa.concat_tables(parts).group_by(["source", "family", "drawn"]).aggregate([("n", "sum"), ("found", "sum")])
    found = {(r["source"], r["family"], r["drawn"]): r["found_sum"] for r in whole.to_pylist()}
    n = {r["drawn"]: r["n_sum"] for r in whole.to_pylist() if r["source"] == WHOLE}
    rows = []
    for source, family in sorted({key[:2] for key in found}):
        for drawn in sorted(DRAWN):
            # If no set that was drawn in this way has a finding of a family, there is no row for them.
            own, random = (found.get((source, family, way), 0) for way in (REAL, drawn))
            expected = Interval(*(number * n[REAL] for number in wilson(random / n[drawn], n[drawn])))
            sets = {"drawn": drawn, "n_sets": n[drawn], "found_sets": random}
            row = {"source": source, "family": family, "n": n[REAL], "found": own, **sets}
            rows.append(row | expected.columns("expected"))
    return schema.table("chance", rows)


def summary(rows: pa.Table) -> str:
    """Summarise in one line the rows of `chance/` about complete descriptions."""
    row = next(r for r in rows.to_pylist() if r["source"] == WHOLE and r["drawn"] == DRAWN[1])
    return (
        f"{row['found']:,} of {row['n']:,} neurons and poles show something at a rate of {RATE} over a description; by "
        f"chance about {row['expected']:,.0f} would ({row['found_sets']:,} of {row['n_sets']:,} random sets do; "
        f"{row['expected_low']:,.0f} to {row['expected_high']:,.0f})"
    )
