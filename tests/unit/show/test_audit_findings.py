"""What an audit found, in sentences and numbers, from made-up tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.show.audit_findings import lay_out_audit, read_audit_findings
from ops.show.transfers import sum_transfers
from ops.storage.store import Store
from tests.unit.show.made_up_audit import audited, halves, literal, pairs, table

NAMES = ["books", "news", "tweets"]
NEURONS = 8  # the first six are explained, and the first four have controls
VERDICTS = ["global", "local", "local", "none", "local", "none", "global", "dataset_detector"]


def rows_of(neurons: int = NEURONS, explained: int = 6, controlled: int = 4) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all tables, by table."""
    own = pairs(NAMES, neurons, 3, 0.0, poor="books")
    layers = {row["unit"]: row["layer"] for row in own}
    illusions = [0.5, 0.75, 1.0, None, 0.25, 0.8, 9.0, 9.0]
    given = [audited(layers[u], u, VERDICTS[u], illusions[u]) for u in range(neurons)]
    controls = [
        audited(layers[u], u, verdict, illusion, control=control)
        for control, verdict, illusion in (("halves", "none", 0.125), ("permuted", "global", -0.25))
        for u in range(controlled)
    ]
    permuted = pairs(NAMES, controlled, 4, 0.0)
    told = [
        {"layer": layers[u], "unit": u, "pole": "top", "verdict": "explained" if u < explained else "nuisance"}
        for u in range(neurons)
    ]
    kinds = ["global", "local", "local", "dataset", "none", "none", "global", "global"]
    literals = [literal(layers[u], u, 1, [0.0, 0.0, 0.0], verdict=kinds[u]) for u in range(neurons)]
    return {
        "explanations": told,
        "audit/neurons": given,
        "audit/neurons_controls": controls,
        "audit/portability": own,
        "audit/portability_controls": [
            row | {"control": control}
            for control, own in (("halves", halves(NAMES, controlled, 5)), ("permuted", permuted))
            for row in own
        ],
        "audit/patterns": [*literals, literal(1, 0, 1, [9.0, 9.0, 9.0], pole=None, model="range", verdict="global")],
    }


def found(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    units = {(row["layer"], row["unit"]) for row in rows["audit/neurons"]}
    heard = [{"layer": layer, "unit": unit, "std": 1.0, "min": -1.0, "max": 1.0} for layer, unit in units]
    (folder / "neurons").mkdir()
    pq.write_table(pa.Table.from_pylist(heard), folder / "neurons" / "part-00000.parquet")
    for name, own in rows.items():
        (folder / name).mkdir(parents=True)
        made = table(name, own)
        keep = ["layer", "unit", "pole", "verdict"] if name == "explanations" else made.column_names
        pq.write_table(made.select(keep), folder / name / "part-00000.parquet")
    return read_audit_findings(Store(str(folder)))


def test_numbers_cover_only_the_explained(tmp_path: Path) -> None:
    rows = rows_of()
    facts = found(tmp_path, rows)
    assert (facts["explained"], facts["audited"], facts["datasets"]) == (6, 8, NAMES)
    assert facts["verdicts"] == {
        "neurons": {"global": 1, "local": 3, "dataset_detector": 0, "none": 2},
        "permuted": {"global": 4, "local": 0, "dataset_detector": 0, "none": 0},
        "halves": {"global": 0, "local": 0, "dataset_detector": 0, "none": 4},
    }
    assert facts["literals"] == {"global": 1, "local": 2, "dataset": 1, "none": 2}
    assert facts["illusion"] == {"neurons": 0.75, "permuted": -0.25, "halves": 0.125}

    def overall(chosen: list[dict[str, Any]], units: int) -> Any:
        return pytest.approx(
            sum_transfers(table("audit/portability", [r for r in chosen if r["unit"] < units])).overall()
        )

    assert facts["transfer"]["neurons"] == overall(rows["audit/portability"], 6)
    assert facts["transfer_of_controlled"] == overall(rows["audit/portability"], 4)
    for control in ("halves", "permuted"):
        own = [row for row in rows["audit/portability_controls"] if row["control"] == control]
        assert facts["transfer"][control] == overall(own, 4)
    ratios = sum_transfers(table("audit/portability", [r for r in rows["audit/portability"] if r["unit"] < 6])).ratios()
    assert [row["transfer"] is None for row in facts["matrix"]] == [
        row["dataset_to"] == "books" for row in facts["matrix"]
    ]
    for row in facts["matrix"]:
        value = ratios[NAMES.index(row["dataset_from"]), NAMES.index(row["dataset_to"])]
        assert np.isnan(value) if row["transfer"] is None else row["transfer"] == value
    assert json.loads(json.dumps(facts)) == facts


def test_the_first_sentence_says_how_many_hold_and_the_next_compare_with_controls(tmp_path: Path) -> None:
    facts = found(tmp_path, rows_of())
    transfer = facts["transfer"]
    assert facts["sentences"] == [
        "Of 6 explained neurons and poles, 1 holds in at least three quarters of the 3 data sets. The rest: 3 local, 0 "
        "that follow the data set, and 2 whose winners cannot be distinguished in any data set.",
        "As a control, data sets were permuted over documents, which makes them similar. 4 of 4 then hold in at least "
        "three quarters, and no larger share can be expected of the neurons themselves.",
        f"Transfer is {transfer['neurons']:.2f}: score cards of other data sets gain that share of what a data set's "
        "own cards gain.",
        f"Among the 4 with controls it is {facts['transfer_of_controlled']:.2f}, compared with "
        f"{transfer['halves']:.2f} between two halves of one data set and {transfer['permuted']:.2f} with data sets "
        "permuted over documents.",
        "The median neuron has an illusion of 0.75, compared with 0.12 between two halves of one data set and -0.25 "
        "with data sets permuted over documents. It is 0 where cards of other data sets do as well as the data set's "
        "own, and 1 where they do no better than those of random sets.",
        "In books the data set's own cards gain nothing in total over these neurons, so the transfer into it is "
        "unknown.",
        "Verdicts of the 6 literals in their explanations: 1 global, 2 local, 1 with a lift above 1 only because data "
        "sets differ, and 2 none of these.",
    ]
    lines = lay_out_audit(facts, 100).split("\n")
    assert max(map(len, lines)) <= 110
    assert [line.split()[-4:] for line in lines[-3:]] == [
        ["1", "3", "0", "2"],
        ["4", "0", "0", "0"],
        ["0", "0", "0", "4"],
    ]
    assert [line[:34].strip() for line in lines[-4:]] == [
        "Verdicts", "neurons", "data sets permuted over documents", "two halves of each data set",
    ]  # fmt: skip


def test_without_controls_nothing_is_said_of_them(tmp_path: Path) -> None:
    facts = found(tmp_path, rows_of(controlled=0))
    assert set(facts["transfer"]) == set(facts["verdicts"]) == {"neurons"}
    assert facts["transfer_of_controlled"] is None
    said = " ".join(facts["sentences"])
    assert "permuted" not in said
    assert "halves" not in said


def test_without_explained_neurons_there_is_one_sentence(tmp_path: Path) -> None:
    facts = found(tmp_path, rows_of(explained=0))
    assert facts["sentences"] == [
        "None of the 8 audited neurons and poles is explained, so no explanation can hold in other data sets."
    ]
    assert lay_out_audit(facts, 110) == facts["sentences"][0]
    assert facts["matrix"] == []
