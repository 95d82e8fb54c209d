"""What an audit found over all neurons, in sentences and as a table of verdicts, each next to its controls."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s
from ops.facts.text import enumerated, number
from ops.facts.transfers import COLUMNS, LEAST_GAIN, Transfers, among, keys, sum_transfers
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.silent import read_heard

Facts = dict[str, Any]

NEURONS, PERMUTED, HALVES = "neurons", "permuted", "halves"
VERDICTS = ("global", "local", "dataset_detector", "none")
NEURON_COLUMNS = ["layer", "unit", "pole", "illusion", "verdict"]
_WHERE = {HALVES: "between two halves of one data set", PERMUTED: "with data sets permuted over documents"}
_LITERALS = ["layer", "unit", "pole", "model", "verdict"]


@dataclass(frozen=True)
class AuditedRun:
    """What is read from an audit: the explained neurons and poles, and their rows of its tables.

    Attributes:
        explained: numbers of the neurons and poles that are explained and audited (`ops.facts.transfers.keys`).
        audited: how many neurons and poles were audited, explained or not.
        transfers: the sums of the neurons (`neurons`) and of each control that was made.
        neurons: rows of audit/neurons/ and of its controls with `NEURON_COLUMNS`, by the same names.
        compared: the sums over the explained neurons and poles that have controls. None without controls.
    """

    explained: Int64s
    audited: int
    transfers: dict[str, Transfers]
    neurons: dict[str, pa.Table]
    compared: Transfers | None


def audited_run(
    explanations: pa.Table, neurons: pa.Table, neurons_controls: pa.Table, pairs: pa.Table, pairs_controls: pa.Table
) -> AuditedRun:
    """Return the data behind the figures and findings of an audit.

    Args:
        explanations: rows with `layer`, `unit`, `pole` and `verdict`.
        neurons, neurons_controls: rows of these tables with `NEURON_COLUMNS`. The controls also have `control`.
        pairs, pairs_controls: rows of audit/portability/ and its controls with `COLUMNS`. The controls also have
            `control`.
    """
    explained = keys(explanations.filter(pc.equal(explanations["verdict"], "explained")))
    explained = np.intersect1d(explained, keys(neurons))
    neurons_controls, pairs_controls = (
        table.filter(among(table, explained)) for table in (neurons_controls, pairs_controls)
    )
    found = {NEURONS: neurons.filter(among(neurons, explained))}
    own_pairs = pairs.filter(among(pairs, explained))
    transfers = {NEURONS: sum_transfers(own_pairs)}
    for control in (PERMUTED, HALVES):
        rows = neurons_controls.filter(pc.equal(neurons_controls["control"], control))
        if rows.num_rows:
            found[control] = rows
            transfers[control] = sum_transfers(pairs_controls.filter(pc.equal(pairs_controls["control"], control)))
    compared = None
    if pairs_controls.num_rows:
        compared = sum_transfers(own_pairs.filter(among(own_pairs, keys(pairs_controls))))
    return AuditedRun(explained, neurons.num_rows, transfers, found, compared)


def read_audited(store: Store) -> AuditedRun:
    """Return the data behind the figures and findings of a finished audit."""
    return audited_run(
        read_heard(store, "explanations", columns=["layer", "unit", "pole", "verdict"]),
        read_heard(store, "audit/neurons", columns=NEURON_COLUMNS),
        read_table(store, "audit/neurons_controls", columns=["control", *NEURON_COLUMNS]),
        read_table(store, "audit/portability", columns=COLUMNS),
        read_table(store, "audit/portability_controls", columns=["control", *COLUMNS]),
    )


def read_audit_findings(store: Store) -> Facts:
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
    run = read_audited(store)
    literals = read_table(store, "audit/patterns", pc.field("model") == "winners", _LITERALS)
    return findings(run, literals.filter(among(literals, run.explained)))


def findings(run: AuditedRun, literals: pa.Table) -> Facts:
    """Return the facts that `read_audit_findings` describes.

    Args:
        run: what was read from the audit.
        literals: rows of audit/patterns/ for the winners' models, with `verdict`.
    """
    own = run.transfers[NEURONS]
    ratios = own.ratios()
    facts: Facts = {
        "explained": len(run.explained),
        "audited": run.audited,
        "datasets": list(own.names),
        "verdicts": {name: _counts(rows["verdict"].to_pylist(), VERDICTS) for name, rows in run.neurons.items()},
        "transfer": {name: sums.overall() for name, sums in run.transfers.items()},
        "transfer_of_controlled": run.compared.overall() if run.compared else None,
        "illusion": {name: _median(rows["illusion"]) for name, rows in run.neurons.items()},
        "matrix": [
            {"dataset_from": one, "dataset_to": other, "transfer": _null(ratios[i, j])}
            for i, one in enumerate(own.names)
            for j, other in enumerate(own.names)
            if i != j
        ],
        "literals": _counts(literals["verdict"].to_pylist(), ("global", "local", "dataset", "none")),
    }
    return facts | {"sentences": _said(facts, own)}


def _said(facts: Facts, own: Transfers) -> list[str]:
    explained, datasets = facts["explained"], len(facts["datasets"])
    if not explained:
        return [
            f"None of the {facts['audited']:,} audited neurons and poles is explained, so no explanation can hold in "
            "other data sets."
        ]
    counts = facts["verdicts"]
    found = counts[NEURONS]
    holds = f"{found['global']:,} hold{'s' if found['global'] == 1 else ''}"
    said = [
        f"Of {explained:,} explained neurons and poles, {holds} in at least three quarters of the {datasets} data "
        f"sets. The rest: {found['local']:,} local, {found['dataset_detector']:,} that follow the data set, and "
        f"{found['none']:,} whose winners cannot be distinguished in any data set."
    ]
    if PERMUTED in counts:
        similar, many = counts[PERMUTED]["global"], sum(counts[PERMUTED].values())
        said.append(
            f"As a control, data sets were permuted over documents, which makes them similar. {similar:,} of {many:,} "
            "then hold in at least three quarters, and no larger share can be expected of the neurons themselves."
        )
    said += _said_transfer(facts)
    said += _said_illusion(facts)
    nothing = own.gains_nothing()
    if nothing:
        said.append(
            f"In {enumerated(nothing, 'and')} the data set's own cards gain less than {LEAST_GAIN} on average, so the "
            f"transfer into {'it' if len(nothing) == 1 else 'them'} is unknown."
        )
    return said + _said_literals(facts["literals"])


def _said_transfer(facts: Facts) -> list[str]:
    transfer = facts["transfer"]
    if transfer[NEURONS] is None:
        return [
            "The data sets' own score cards gain nothing over those of random sets, so there is nothing to transfer."
        ]
    said = [
        f"Transfer is {number(transfer[NEURONS], '.2f')}: score cards of other data sets gain that share of what a "
        "data set's own cards gain."
    ]
    controls = _controls_in_words(transfer)
    if controls:
        many = max(sum(counts.values()) for name, counts in facts["verdicts"].items() if name in _WHERE)
        own = facts["transfer_of_controlled"]
        among_them = (
            f"Among the {many:,} with controls it is {number(own, '.2f')}, compared with "
            if own is not None
            else "Controls: "
        )
        said.append(f"{among_them}{controls}.")
    return said


def _said_illusion(facts: Facts) -> list[str]:
    own, controls = facts["illusion"][NEURONS], _controls_in_words(facts["illusion"])
    if own is None:
        return []
    compared = f", compared with {controls}" if controls else ""
    return [
        f"The median neuron has an illusion of {number(own, '.2f')}{compared}. It is 0 where cards of other data sets "
        "do as well as the data set's own, and 1 where they do no better than those of random sets."
    ]


def _controls_in_words(numbers: dict[str, float | None]) -> str:
    """Return the numbers of the controls in words, or "" if none is known."""
    known = [
        f"{number(value, '.2f')} {where}" for name, where in _WHERE.items() if (value := numbers.get(name)) is not None
    ]
    return enumerated(known, "and") if known else ""


def _said_literals(counts: dict[str, int]) -> list[str]:
    many = sum(counts.values())
    if not many:
        return []
    return [
        f"Verdicts of the {many:,} literals in their explanations: {counts['global']:,} global, {counts['local']:,} "
        f"local, {counts['dataset']:,} with a lift above 1 only because data sets differ, and {counts['none']:,} none "
        "of these."
    ]


def _counts(values: list[str], names: tuple[str, ...]) -> dict[str, int]:
    found = Counter(values)
    return {name: found[name] for name in names}


def _median(values: pa.ChunkedArray) -> float | None:
    known = values.drop_null()
    return float(np.median(known.to_numpy())) if len(known) else None


def _null(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
