"""What a contrast found, in sentences and lists, from tables whose numbers are known."""

from pathlib import Path
from typing import Any

import pytest

from ops.facts.contrasts import read_contrasts, said_of_probes, said_of_unit
from tests.unit.facts.made_up_rows import write_tables

Row = dict[str, Any]


def probe(basis: str, k: int | None, auc: float | None, layer: int | None = None, **over: tuple[float, float]) -> Row:
    row: Row = {"group": "mood=glad", "basis": basis, "layer": layer, "k": k, "auc": auc}
    row |= {f"auc{end}": auc for end in ("_low", "_high")}
    row |= {
        f"over_{name}{end}": None for name in ("rotated", "layer", "words", "random") for end in ("", "_low", "_high")
    }
    for name, (low, high) in over.items():
        row |= {f"over_{name}": (low + high) / 2, f"over_{name}_low": low, f"over_{name}_high": high}
    return row


PROBES = [
    probe("words", None, 0.7),
    probe("units", 1, 0.65, rotated=(0.01, 0.05), words=(-0.09, -0.01)),
    probe("rotated", 1, 0.62),
    probe("units", 8, 0.71, rotated=(-0.01, 0.02), words=(-0.01, 0.03)),
    probe("rotated", 8, 0.705),
    probe("units", 1, 0.99, layer=2, rotated=(0.1, 0.2), words=(0.1, 0.2)),
]


def test_the_sentence_is_about_the_layer_that_was_chosen_on_training_documents() -> None:
    assert said_of_probes(PROBES) == [
        "mood=glad: one unit (AUC 0.65) does better than one rotated axis (0.62) and worse than words (0.70); 8 units "
        "(AUC 0.71) do no better than 8 rotated axes (0.70) and no better than words (0.70)."
    ]


def test_features_are_compared_with_words_alone() -> None:
    found = said_of_probes([row for row in PROBES if row["basis"] != "rotated"])
    assert found[0].startswith("mood=glad: one unit (AUC 0.65) does worse than words (0.70); 8 units")


def test_without_held_out_areas_nothing_is_compared() -> None:
    assert said_of_probes([probe("words", None, None)]) == ["mood=glad: too few documents for probes."]
    assert said_of_probes([]) == []


def unit(number: int, rank: int, q: float | None, matched: float | None, group: str = "mood=glad") -> Row:
    row: Row = {"group": group, "layer": 2, "unit": number, "rank": rank, "q_value": q, "matched_auc": matched}
    row |= {"matched_auc_low": matched, "matched_auc_high": matched, "auc": 0.75, "p_family": 0.5, "difference": -0.5}
    return row | {"n_a": 1_200, "n_b": 30, "documents_a": 40, "documents_b": 6, "g2": None}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (unit(1, 1, 0.0, 0.9), ["higher in mood=glad (rank 1, matched AUC 0.90)"]),
        (unit(1, 20, 0.04, 0.25), ["lower in mood=glad (rank 20, matched AUC 0.25)"]),
        (unit(1, 21, 0.0, 0.9), []),
        (unit(1, 1, 0.05, 0.9), []),
        (unit(1, 1, None, None), []),
        (unit(1, 1, 0.0, None), ["higher in mood=glad (rank 1, AUC 0.75)"]),
    ],
)
def test_a_unit_separates_what_it_ranks_high_and_surely_in(row: Row, said: list[str]) -> None:
    assert said_of_unit([row]) == said


def test_lists_show_units_by_rank_next_to_controls(tmp_path: Path) -> None:
    controls = [
        {"group": "mood=glad", "layer": layer, "control": control, "measure": "significant", "n": 100, "mean": mean}
        for control, mean in (("units", 0.25), ("rotated", 0.5), ("permuted", 0.0))
        for layer in (1, 2)
    ]
    tables = {"contrast/units": [unit(7, 2, 0.01, 0.6), unit(5, 1, 0.001, 0.8)], "contrast/probes": PROBES}
    store = write_tables(tmp_path, {**tables, "contrast/controls": controls})
    found = read_contrasts(store, 10)
    assert found["sentences"] == said_of_probes(PROBES)
    probes, units = found["lists"]
    assert [row[:2] for row in probes.rows] == [("1", "0.650"), ("8", "0.710")]
    assert probes.rows[0][2:4] == ("0.620", "+0.030 (+0.010 to +0.050)")
    assert [row[0] for row in units.rows] == ["2:5", "2:7"]
    assert units.about == (
        "mood=glad: 1,200 sentences of 40 documents against 30 of 6; q < 0.05 for 50 of 200 units, 100 of rotated "
        "axes, 0 with permuted labels"
    )


def test_probes_without_areas_are_said_and_not_listed(tmp_path: Path) -> None:
    probes = [probe("words", None, None), probe("units", 1, None), probe("rotated", 1, None)]
    tables = {"contrast/units": [unit(7, 2, 0.01, 0.6)], "contrast/probes": probes, "contrast/controls": []}
    found = read_contrasts(write_tables(tmp_path, tables), 10)
    assert found["sentences"] == ["mood=glad: too few documents for probes."]
    assert [listed.about[:20] for listed in found["lists"]] == ["mood=glad: 1,200 sen"]
