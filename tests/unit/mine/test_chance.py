"""Findings of neurons and of random sets, counted by hand."""

import numpy as np
import pyarrow as pa
import pytest

from ops.mine.chance import SCHEMA, WHOLE, chance_rows, count_findings, summary
from ops.schema import schema
from ops.statistics.interval import wilson
from ops.topk.neurons import POLES, Neurons

NEURONS = Neurons((2, 1))  # so that numbers from 6 on are random sets, uniform ones even
NUMBER = np.arange(10)


def rows_of(column: str, *rows: tuple[int, str, float | None, float | None]) -> pa.Table:
    """Return rows of a table from (number of the set, family, q, lift)."""
    layer, unit = NEURONS.layer_and_unit(np.array([number // 2 for number, *_ in rows], np.int64))
    return pa.table(
        {
            "layer": layer,
            "unit": unit,
            "pole": pa.array([POLES[number % 2] for number, *_ in rows], pa.string()),
            column: pa.array([row[1] for row in rows], pa.string()),
            "q_value": pa.array([row[2] for row in rows], pa.float64()),
            "lift": pa.array([row[3] for row in rows], pa.float32()),
        }
    )


TABLES = {
    "patterns": [
        rows_of("kind", (0, "word", 0.001, 2.0), (0, "word", 0.01, 3.0), (0, "tag", 0.9, 2.0), (1, "word", 0.01, 0.5)),
        rows_of("kind", (4, "word", None, None), (5, "tag", 0.06, 4.0), (6, "word", 0.04, 2.0), (8, "word", 0.9, 1.5)),
    ],
    "profiles": [rows_of("property", (0, "topic", 0.5, 1.2), (5, "topic", 0.02, 2.0), (7, "topic", 0.001, 9.0))],
}


def found() -> dict[tuple[str, str, str], tuple[int, int]]:
    table = count_findings(TABLES, NEURONS, NUMBER)
    assert table.schema.equals(SCHEMA)
    return {(r["source"], r["family"], r["drawn"]): (r["n"], r["found"]) for r in table.to_pylist()}


def test_sets_with_a_finding_are_counted_by_family_and_by_how_they_were_drawn() -> None:
    counted = found()
    assert counted["patterns", "word", "neurons"] == (6, 1)
    assert counted["patterns", "tag", "neurons"] == (6, 0)
    assert counted["profiles", "topic", "neurons"] == (6, 1)
    assert counted["patterns", "word", "uniform"] == (2, 1)
    assert counted["profiles", "topic", "documents"] == (2, 1)
    assert counted["profiles", "topic", "uniform"] == (2, 0)
    # Set 0: 0.001 of three families; set 5: 0.02 of two; set 6 and 7 have one family each.
    assert counted[WHOLE, WHOLE, "neurons"] == (6, 2)
    assert counted[WHOLE, WHOLE, "uniform"] == (2, 1)
    assert counted[WHOLE, WHOLE, "documents"] == (2, 1)


def test_ranges_add_up_and_the_expected_is_the_random_sets_share() -> None:
    parts = [count_findings(TABLES, NEURONS, NUMBER)] * 3
    rows = chance_rows(parts)
    assert rows.schema.equals(schema("chance"))
    keys = [(r["source"], r["family"], r["drawn"]) for r in rows.to_pylist()]
    assert keys == sorted(keys)
    words = next(r for r in rows.to_pylist() if r["family"] == "word" and r["drawn"] == "uniform")
    assert (words["n"], words["found"], words["n_sets"], words["found_sets"]) == (18, 3, 6, 3)
    _, low, high = wilson(0.5, 6)
    assert words["expected"] == 9
    assert (words["expected_low"], words["expected_high"]) == pytest.approx((18 * low, 18 * high))
    assert summary(rows).startswith("6 of 18 neurons and poles show something at a rate of 0.05 over a description")


def test_sets_without_a_row_count_too() -> None:
    none = {"patterns": [rows_of("kind")], "profiles": []}
    table = count_findings(none, NEURONS, NUMBER)
    assert {(r["drawn"], r["n"], r["found"]) for r in table.to_pylist()} == {
        ("neurons", 6, 0),
        ("uniform", 2, 0),
        ("documents", 2, 0),
    }
    assert chance_rows([table]).num_rows == 2
    silent = chance_rows([count_findings(none, NEURONS, NUMBER[6:])])
    assert [(r["n"], r["found"], r["expected"], r["n_sets"]) for r in silent.to_pylist()] == [(0, 0, 0, 2)] * 2
    assert summary(silent).startswith("0 of 0 neurons and poles show something")
