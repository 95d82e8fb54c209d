"""The rows of the tables: ranks, q values, differences, and the layer that is chosen on training documents."""

from dataclasses import replace

import numpy as np
import pytest

from ops import schema
from ops.contrast.figures import contrast_figures
from ops.contrast.groups import Contrast
from ops.contrast.probes import KS, Scores
from ops.contrast.tables import control_rows, known_q_values, probe_rows, units_table
from ops.contrast.units import Separation
from ops.statistics.false_discovery import q_values
from ops.statistics.fold_areas import FoldAreas
from tests.unit.contrast.small import contrast

NAN = np.full(3, np.nan)


def separation(matched: list[tuple[float, float, float]], **more: np.ndarray) -> Separation:
    area = np.array(matched).T
    values = {"mean_a": np.array([1.0, 2.0, 3.0]), "mean_b": np.zeros(3), "auc": area, "matched_auc": area}
    values |= {"p": np.array([0.01, 0.5, np.nan]), "distance": np.array([5.0, -1.0, 0.0])}
    values |= {
        "largest": np.array([2.0, 3.0, 4.0]),
        **dict.fromkeys(("active_a", "active_b", "lift", "g2", "effect"), NAN),
    }
    return Separation(**{**values, **more})


FIRST = separation([(0.7, 0.6, 0.8), (0.5, 0.4, 0.6), (np.nan, np.nan, np.nan)])
SECOND = separation([(0.2, 0.1, 0.3), (0.55, 0.48, 0.62), (0.45, 0.38, 0.52)], largest=np.array([1.0, 9.0, 1.0]))


def test_units_are_ranked_by_the_nearer_end_then_by_the_difference() -> None:
    one = contrast()
    units, spread = np.array([0, 4, 6]), np.array([1.0, 1.0, 2.0])
    layers = {1: FIRST, 2: SECOND}
    table = units_table(one, layers, {1: units, 2: units}, {1: spread, 2: spread})
    rows = sorted(table.to_pylist(), key=lambda row: row["rank"])
    # 0.3 is 0.2 below 0.5, and 0.6 is 0.1 above. Two hold 0.5 by 0.02, of which the first differs more; then 0.1.
    assert [(row["layer"], row["unit"]) for row in rows] == [(2, 0), (1, 0), (2, 4), (2, 6), (1, 4), (1, 6)]
    assert [row["difference"] for row in rows[:3]] == [1, 1, 2]
    q = known_q_values(np.array([0.01, 0.5, np.nan, 0.01, 0.5, np.nan]))
    assert q[[0, 1, 3, 4]] == pytest.approx(q_values(np.array([0.01, 0.5, 0.01, 0.5])))
    assert [row["q_value"] for row in table.to_pylist()] == [None if np.isnan(own) else own for own in q]
    # The largest of both layers are 2, 9 and 4 in the permutations.
    assert {row["p_family"] for row in rows if row["unit"] == 0} == {2 / 4}
    assert (rows[0]["n_a"], rows[0]["documents_a"]) == (one.is_a.sum(), one.documents_of(one.is_a))


def test_features_are_ranked_by_g2_and_its_design_effect() -> None:
    own = separation([(0.9, 0.8, 1.0)] * 3, g2=np.array([10.0, -30.0, 12.0]), effect=np.array([1.0, 2.0, np.inf]))
    table = units_table(contrast(), {1: own}, {1: np.arange(3)}, {1: np.ones(3)})
    assert [row["rank"] for row in table.to_pylist()] == [2, 1, 3]


def test_controls_have_quantiles_and_the_share_that_is_significant() -> None:
    rows = {
        (row["control"], row["layer"], row["measure"]): row
        for row in control_rows("g", {"units": {1: FIRST, 2: SECOND}, "permuted": {1: SECOND}})
    }
    assert rows["units", 1, "matched_auc"]["n"] == 2
    assert rows["units", 1, "matched_auc"]["mean"] == pytest.approx(0.6)
    assert rows["permuted", 1, "auc"]["q50"] == pytest.approx(0.45)
    significant = rows["units", 1, "significant"]
    assert (significant["n"], significant["mean"]) == (2, 0.5)
    assert schema.table("contrast/controls", rows.values()).num_rows == 9


def probes(one: Contrast) -> dict[str, dict[int | None, Scores]]:
    """Units of layer 1 are best within the training documents of folds 0 and 1, those of layer 2 elsewhere."""
    random, n = np.random.default_rng(3), len(one.rows)

    def scores(strength: float) -> Scores:
        return Scores(random.normal(size=(n, 2)) + strength * one.is_a[:, None], np.full((5, 2), 0.6))

    found: dict[str, dict[int | None, Scores]] = {"units": {1: scores(0.5), 2: scores(1.0)}}
    found["units"][1].inner[:2] = 0.9
    found["units"][2].inner[2:] = 0.8
    found["layer"] = {layer: Scores(scores(2.0).held_out[:, :1], np.zeros((5, 1))) for layer in (1, 2)}
    turned = {layer: [scores(0.3).held_out for _ in range(3)] for layer in (1, 2)}
    found["rotated"] = {layer: Scores(np.stack(own), np.zeros((3, 5, 2))) for layer, own in turned.items()}
    found["words"] = {None: Scores(scores(0.8).held_out[:, :1], np.zeros((5, 1)))}
    found["random"] = {layer: scores(0.1) for layer in (1, 2)}
    return found


def test_the_layer_is_chosen_fold_by_fold_on_training_documents() -> None:
    one = contrast(1_500, documents=300)
    own = probes(one)
    rows = probe_rows(one, own)
    assert schema.table("contrast/probes", rows).num_rows == len(rows)
    by_key = {(row["basis"], row["layer"], row["k"]): row for row in rows}
    assert len(by_key) == len(rows)
    folds = one.folds // 2
    chosen = np.where(folds < 2, own["units"][1].held_out[:, 1], own["units"][2].held_out[:, 1])
    areas = FoldAreas.of(chosen[:, None], one.is_a, one.documents, folds).areas()[:, 0]
    row = by_key["units", None, KS[1]]
    assert [row["auc"], row["auc_low"], row["auc_high"]] == pytest.approx(areas.tolist())
    words = by_key["words", None, None]["auc"]
    assert row["over_words"] == pytest.approx(row["auc"] - words)
    assert row["over_layer"] == pytest.approx(row["auc"] - by_key["layer", None, KS[1]]["auc"])
    assert row["over_random"] == pytest.approx(row["auc"] - by_key["random", None, KS[1]]["auc"])


def test_rotations_have_median_and_range_and_add_their_own_variance() -> None:
    one = contrast(1_500, documents=300)
    own = probes(one)
    folds = one.folds // 2
    by_key = {(row["basis"], row["layer"], row["k"]): row for row in probe_rows(one, own)}
    columns = np.stack([own["units"][2].held_out[:, 0], *own["rotated"][2].held_out[:, :, 0]], 1)
    found = FoldAreas.of(columns, one.is_a, one.documents, folds)
    areas = found.areas()[0]
    row = by_key["rotated", 2, 1]
    expected = [np.median(areas[1:]), areas[1:].min(), areas[1:].max()]
    assert [row["auc"], row["auc_low"], row["auc_high"]] == pytest.approx(expected)
    units = by_key["units", 2, 1]
    assert units["over_rotated"] == pytest.approx(areas[0] - areas[1:].mean())
    plain = found.combined(np.array([1, -1 / 3, -1 / 3, -1 / 3]))
    assert units["over_rotated_low"] < plain[1]


def test_groups_in_too_few_folds_have_no_areas() -> None:
    one = replace(contrast(300), is_a=np.arange(300) == 0)
    rows = probe_rows(one, probes(one))
    assert all(row["auc"] is None for row in rows)
    assert schema.table("contrast/probes", rows)["auc"].null_count == len(rows)


def test_figures_show_units_next_to_controls() -> None:
    one = contrast(600, documents=100)
    controls = schema.table(
        "contrast/controls", control_rows("made up", {"units": {1: FIRST}, "permuted": {1: SECOND}})
    )
    table = schema.table("contrast/probes", probe_rows(one, probes(one)))
    figures = contrast_figures(controls, table)
    assert list(figures) == ["areas", "probes"]
    (axes,) = figures["probes"].axes
    assert {line.get_label() for line in axes.lines} >= {"units", "words", "complete layer", "random weights"}
    assert list(contrast_figures(controls, table.slice(0, 0))) == ["areas"]
