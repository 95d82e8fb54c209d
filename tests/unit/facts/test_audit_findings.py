"""What an audit found, in sentences and numbers, from made-up tables."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ops.facts.audit_findings import read_audit_findings
from ops.facts.transfers import sum_transfers
from ops.show.side_jobs import lay_out_audit
from tests.unit.facts.made_up_audit import audited, halves, literal, pairs, table
from tests.unit.facts.made_up_rows import write_tables

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
        {"layer": layers[u], "unit": u, "pole": "top", "verdict": "rule" if u < explained else "source"}
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
        "audit/patterns": [
            *literals,
            literal(1, 0, 1, [9.0, 9.0, 9.0], pole=None, model="activation", verdict="global"),
        ],
    }


def found(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    units = {(row["layer"], row["unit"]) for row in rows["audit/neurons"]}
    heard = [{"layer": layer, "unit": unit, "is_silent": False} for layer, unit in sorted(units)]
    return read_audit_findings(write_tables(folder, rows | {"neurons": heard}))


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
    for row in facts["matrix"]:
        assert (row["transfer"] is None) == (row["dataset_to"] == "books")
        value = ratios[NAMES.index(row["dataset_from"]), NAMES.index(row["dataset_to"])]
        assert np.isnan(value) if row["transfer"] is None else row["transfer"] == value
    assert json.loads(json.dumps(facts)) == facts


def test_the_sentences_have_the_numbers_of_the_neurons_and_of_their_controls(tmp_path: Path) -> None:
    facts = found(tmp_path, rows_of())
    transfer = {name: f"{value:.2f}" for name, value in facts["transfer"].items()}
    controlled = f"{facts['transfer_of_controlled']:.2f}"
    assert [re.findall(r"-?\d[\d.]*\b", said) for said in facts["sentences"]] == [
        ["6", "1", "3", "3", "0", "2"],
        ["4", "4"],
        [transfer["neurons"]],
        ["4", controlled, transfer["halves"], transfer["permuted"]],
        ["0.75", "0.12", "-0.25", "0", "1"],
        ["0.01"],
        ["6", "1", "2", "1", "1", "2"],
    ]
    assert facts["sentences"][5].startswith("In books the data set's own cards gain less")
    lines = lay_out_audit(facts, 100).split("\n")
    assert max(map(len, lines)) <= 110
    assert [(line[:35].strip(), *line[35:].split()) for line in lines[-3:]] == [
        ("neurons", "1", "3", "0", "2"),
        ("data sets permuted over documents", "4", "0", "0", "0"),
        ("two halves of each data set", "0", "0", "0", "4"),
    ]


def test_nothing_is_said_of_controls_or_explanations_that_are_not_there(tmp_path: Path) -> None:
    facts = found(tmp_path / "a", rows_of(controlled=0))
    assert set(facts["transfer"]) == set(facts["verdicts"]) == {"neurons"}
    assert facts["transfer_of_controlled"] is None
    assert not re.search("permuted|halves", " ".join(facts["sentences"]))
    facts = found(tmp_path / "b", rows_of(explained=0))
    assert facts["sentences"] == [lay_out_audit(facts, 110)]
    assert facts["sentences"][0].startswith("None of the 8 audited")
    assert facts["matrix"] == []
