"""Histograms, trees, and the dots and intervals of literals' lifts as numbers."""

import math

import numpy as np
import pytest

from ops.report.drawings import BARS, NAMES, PLOT, draw_histogram, draw_tree, lift_strips
from tests.unit.facts.made_up_audit import literal


def test_a_histogram_s_bars_are_the_sentences_by_width() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=20_000)
    edges = np.sort(np.concatenate([np.linspace(-2, 2, 200), [-9.0, 9.0]]))
    counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
    neuron = {"min": values.min(), "max": values.max(), "histogram_edges": edges, "histogram_counts": counts}
    found = draw_histogram(neuron)
    own, _ = np.histogram(values, BARS, (values.min(), values.max()))
    inside = np.abs(np.linspace(found.low, found.high, BARS) + 0.05) < 1.7
    heights = np.array(found.heights)
    np.testing.assert_allclose((heights / heights.sum())[inside], (own / own.sum())[inside], atol=0.004)
    assert heights.max() == 1
    assert found.place(found.low) == 0
    assert found.place((found.low + found.high) / 2) == pytest.approx(0.5)
    assert found.place(found.high + 1) is None
    assert found.place(None) is None


def test_a_constant_neuron_has_one_bar() -> None:
    neuron = {"min": 0.5, "max": 0.5, "histogram_edges": [0.4, 0.6], "histogram_counts": [0, 7, 0]}
    assert draw_histogram(neuron).heights == [1.0]


@pytest.mark.parametrize("pattern", ["(S (NP (DT) (NN)) (VP (VB)))", "(NP (A) (B) (C) (D))", "(A (B (C (D (E)))))"])
def test_a_tree_s_nodes_do_not_meet(pattern: str) -> None:
    drawn = draw_tree(pattern)
    assert len(drawn["nodes"]) == pattern.count("(")
    assert len(drawn["edges"]) == len(drawn["nodes"]) - 1
    for i, a in enumerate(drawn["nodes"]):
        assert 0 <= a["x"] <= drawn["width"]
        assert 0 < a["y"] < drawn["height"]
        for b in drawn["nodes"][i + 1 :]:
            assert a["y"] != b["y"] or abs(a["x"] - b["x"]) >= 7 * (len(a["label"]) + len(b["label"])) / 2


def test_all_strips_share_an_axis_on_which_places_are_those_of_log_lifts() -> None:
    found = lift_strips([literal(1, 0, 1, [0.0, 2.0, None]), literal(1, 0, 2, [-1.0, 1.0, 0.5], negated=True)])
    (first, second) = found["strips"]
    assert (first["negated"], second["negated"], first["verdict"]) == (False, True, "local")
    (zero, two, unknown), (below, one, half) = first["marks"], second["marks"]
    assert zero["x"] == found["one"]
    assert unknown["x"] is None
    assert below["x"] is not None
    assert below["x"] < zero["x"] < half["x"] < one["x"] < two["x"]
    step = (two["x"] - zero["x"]) / 2
    assert one["x"] - zero["x"] == pytest.approx(step, abs=0.2)
    assert (zero["x"] - zero["low"], zero["high"] - zero["x"]) == pytest.approx((step, step), abs=0.2)
    assert two["high"] == found["left"] + PLOT == NAMES + PLOT, "it ends with the axis"
    assert [mark["is_above"] for mark in (zero, two, below, one)] == [False, True, False, False]
    assert [mark["y"] for mark in first["marks"]] == sorted({mark["y"] for mark in first["marks"]})
    assert max(x for x, _ in found["ticks"]) <= found["width"]
    assert {label: x for x, label in found["ticks"]}["1"] == found["one"]
    assert first["said"].startswith("books 1.00 (0.37 to 2.72), news 7.39 (2.72 to 20.1), tweets not known")


@pytest.mark.parametrize("value", [0.0, 30.0, -30.0, math.log(2)])
def test_the_axis_has_room_for_1_and_for_any_lift(value: float) -> None:
    found = lift_strips([literal(1, 0, 1, [value, None, None])])
    mark = found["strips"][0]["marks"][0]
    assert mark["x"] is not None
    assert found["left"] <= mark["low"] <= mark["x"] <= mark["high"] <= found["left"] + PLOT
    assert found["left"] < found["one"] < found["left"] + PLOT
    assert len(found["ticks"]) >= 2
    assert all(found["left"] <= x <= found["left"] + PLOT for x, _ in found["ticks"])
