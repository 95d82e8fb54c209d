import numpy as np
import pytest
from matplotlib.figure import Figure

from ops.psi import embedding_plots, psi_plots
from ops.psi.position_geometry import principal_plane
from ops.psi.token_types import TYPES
from tests.unit.figure_letters import check_print

RNG = np.random.default_rng(0)
LAYERS, HEADS, TOKENS, POSITIONS = 5, 3, 40, 6


@pytest.fixture
def ranked() -> np.ndarray:
    return -np.sort(-RNG.lognormal(size=(LAYERS, HEADS, 20)))


def lines(figure: Figure, panel: int) -> list[np.ndarray]:
    return [np.asarray(line.get_ydata()) for line in figure.axes[panel].lines]


def test_a_panel_a_layer_and_a_line_a_head(ranked: np.ndarray) -> None:
    figure = psi_plots.draw_by_cluster(ranked)
    first = ranked[:, :, 0]
    assert [a.get_title() for a in figure.axes if a.axison] == [
        f"layer {i + 1}\nhighest {first[i].argmax()}, lowest {first[i].argmin()}" for i in range(LAYERS)
    ]
    for layer in range(LAYERS):
        np.testing.assert_array_equal(lines(figure, layer), ranked[layer])


def test_the_figures_can_be_printed() -> None:
    heads = -np.sort(-RNG.lognormal(size=(6, 12, 20)))
    figure = psi_plots.draw_by_cluster(heads, "some-model")
    check_print(figure, "some-model")
    plane = principal_plane(RNG.normal(size=(TOKENS + POSITIONS, 4)))
    kinds = [TYPES[i % len(TYPES)] for i in range(TOKENS)]
    check_print(embedding_plots.draw_plane(plane, kinds, POSITIONS, "some-model"), "some-model")
    check_print(psi_plots.draw_top_types(RNG.integers(0, len(TYPES), (12, 12, 3)), "some-model"), "some-model")
    check_print(embedding_plots.draw_cosines(np.array([0, 3, 10, 0]), {"[CLS]": 0.99}, "some-model"), "some-model")
    attention = RNG.dirichlet(np.ones(64), size=(12, 64))
    check_print(embedding_plots.draw_position_attention(attention, "some-model"), "some-model")
    pairs = [(RNG.lognormal(size=50), RNG.lognormal(size=50))] * 12
    check_print(psi_plots.draw_static_contextual(pairs, 10, "some-model"), "some-model")


def test_the_map_has_the_top_clusters_types_in_their_order() -> None:
    types = RNG.integers(0, len(TYPES), (LAYERS, HEADS, 3))
    (axes,) = psi_plots.draw_top_types(types).axes
    np.testing.assert_array_equal(axes.images[0].get_array(), types.reshape(LAYERS, -1))
