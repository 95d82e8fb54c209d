"""Histograms and trees as numbers."""

import numpy as np
import pytest

from ops.report.drawings import BARS, draw_histogram, draw_tree


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
    assert len(drawn.nodes) == pattern.count("(")
    assert len(drawn.edges) == len(drawn.nodes) - 1
    for i, a in enumerate(drawn.nodes):
        assert 0 <= a.x <= drawn.width
        assert 0 < a.y < drawn.height
        for b in drawn.nodes[i + 1 :]:
            assert a.y != b.y or abs(a.x - b.x) >= 7 * (len(a.label) + len(b.label)) / 2
