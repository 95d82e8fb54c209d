"""What an audit found over all neurons, in sentences and as a table of verdicts, each next to its controls."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s
from ops.facts.rows import Row
from ops.facts.transfers import COLUMNS, Transfers, among, keys, sum_transfers
from ops.facts.verdicts import AUDITED, AUDITED_LITERALS, HALVES, NEURONS, PERMUTED, said_of_run
from ops.schema.verdicts import RULE
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.silent import read_heard

NEURON_COLUMNS = ["layer", "unit", "pole", "illusion", "verdict"]


@dataclass(frozen=True)
class AuditedRun:
    """What is read from an audit: the explained neurons and poles, and their rows of its tables.

    Attributes:
        explained: numbers of the neurons and poles that are explained and audited (`ops.facts.transfers.keys`).
        audited: how many neurons and poles were audited, explained or not.
        transfers: the sums of the neurons (`neurons`) and of each control that was made.
        neurons: rows of audit/neurons/ and of its controls with `NEURON_COLUMNS`, by the same names.
        compared: the transfer over the explained neurons and poles that have controls. None without controls.
    """

    explained: Int64s
    audited: int
    transfers: dict[str, Transfers]
    neurons: dict[str, pa.Table]
    compared: float | None


def audited_run(
    explanations: pa.Table, neurons: pa.Table, neurons_controls: pa.Table, pairs: pa.Table, pairs_controls: pa.Table
) -> AuditedRun:
    """Return the data behind the figures and findings of an audit.

    Args:
        explanations: rows with `layer`, `unit`, `pole` and `verdict`.
        neurons, neurons_controls: rows with `NEURON_COLUMNS`, and those of the controls also with `control`.
        pairs, pairs_controls: rows of audit/portability/ with `COLUMNS`, and those of the controls also with `control`.
    """
    explained = keys(explanations.filter(pc.equal(explanations["verdict"], RULE)))
    explained = np.intersect1d(explained, keys(neurons))
    neurons_controls, pairs_controls = (
        table.filter(among(table, explained)) for table in (neurons_controls, pairs_controls)
    )
    tables = {NEURONS: neurons.filter(among(neurons, explained))}
    explained_pairs = pairs.filter(among(pairs, explained))
    transfers = {NEURONS: sum_transfers(explained_pairs)}
    for control in (PERMUTED, HALVES):
        rows = neurons_controls.filter(pc.equal(neurons_controls["control"], control))
        if rows.num_rows:
            tables[control] = rows
            transfers[control] = sum_transfers(pairs_controls.filter(pc.equal(pairs_controls["control"], control)))
    compared = None
    if pairs_controls.num_rows:
        compared = sum_transfers(explained_pairs.filter(among(explained_pairs, keys(pairs_controls)))).overall()
    return AuditedRun(explained, neurons.num_rows, transfers, tables, compared)


def read_audit_findings(store: Store) -> Row:
    """Return what an audit found.

    Returns:
        - `explained`, `audited`: how many neurons and poles.
        - `datasets`: the names of the data sets.
        - `verdicts`: how many explained neurons and poles have each verdict, for the `neurons` and each control.
        - `transfer`: the transfer over all pairs of data sets, for the `neurons` and each control.
        - `transfer_of_controlled`: the transfer over the neurons and poles that have controls. None without controls.
        - `illusion`: the median over neurons with a known transfer, for the `neurons` and each control.
        - `matrix`: rows with `dataset_from`, `dataset_to` and `transfer`, which is null where it is unknown.
        - `literals`: how many literals of the winners' explanations have each verdict.
        - `sentences`: the findings in words, the most important first.
    """
    run = audited_run(
        read_heard(store, "explanations", columns=["layer", "unit", "pole", "verdict"]),
        read_heard(store, "audit/neurons", columns=NEURON_COLUMNS),
        read_table(store, "audit/neurons_controls", columns=["control", *NEURON_COLUMNS]),
        read_table(store, "audit/portability", columns=COLUMNS),
        read_table(store, "audit/portability_controls", columns=["control", *COLUMNS]),
    )
    literals = read_table(store, "audit/patterns", pc.field("model") == "winners", ["layer", "unit", "pole", "verdict"])
    transfers = run.transfers[NEURONS]

    def counts(rows: pa.Table, verdicts: Iterable[str]) -> dict[str, int]:
        by_verdict = Counter(rows["verdict"].to_pylist())
        return {verdict: by_verdict[verdict] for verdict in verdicts}

    facts: Row = {
        "explained": len(run.explained),
        "audited": run.audited,
        "datasets": list(transfers.names),
        "verdicts": {name: counts(rows, AUDITED) for name, rows in run.neurons.items()},
        "transfer": {name: sums.overall() for name, sums in run.transfers.items()},
        "transfer_of_controlled": run.compared,
        "illusion": {name: pc.quantile(rows["illusion"])[0].as_py() for name, rows in run.neurons.items()},
        "matrix": [
            {"dataset_from": transfers.names[i], "dataset_to": transfers.names[j]}
            | {"transfer": float(ratio) if np.isfinite(ratio) else None}
            for (i, j), ratio in np.ndenumerate(transfers.ratios())
            if i != j
        ],
        "literals": counts(literals.filter(among(literals, run.explained)), AUDITED_LITERALS),
    }
    return facts | {"sentences": said_of_run(facts, transfers.gains_nothing())}
