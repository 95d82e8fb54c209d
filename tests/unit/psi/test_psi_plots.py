import numpy as np

from ops.psi import psi_plots
from ops.psi.position_geometry import principal_plane
from ops.psi.token_types import TYPES
from tests.unit.figure_letters import check_print

RNG = np.random.default_rng(0)
MODEL = "some-model"


def clusters(*shape: int) -> np.ndarray:
    return -np.sort(-RNG.lognormal(size=shape))


def test_a_panel_a_layer_with_the_extreme_heads_and_the_mean_of_all() -> None:
    psi = clusters(5, 3, 20)
    figure = psi_plots.draw_by_cluster(psi, MODEL)
    panels = [axes for axes in figure.axes if axes.axison]
    for axes, own in zip(panels, psi, strict=True):
        high, low = own[:, 0].argmax(), own[:, 0].argmin()
        assert f"highest {high}, lowest {low}" in " ".join(axes.get_title().split())
        expected = (own[high], own[low], own.mean(0))
        for line, values in zip(axes.lines, expected, strict=True):
            np.testing.assert_allclose(np.asarray(line.get_ydata()), values, rtol=1e-6)
    assert [len(axes.lines) for axes in psi_plots.draw_by_cluster(clusters(2, 1, 5)).axes] == [2, 2], "one head"


def test_attention_is_drawn_relative_to_equal_weights() -> None:
    equal = np.tril(np.ones((2, 4, 4))) / np.arange(1, 5)[:, None]
    shown = np.ma.filled(psi_plots.draw_position_attention(equal, True).axes[0].images[0].get_array(), np.nan)
    np.testing.assert_allclose(shown, np.where(np.tri(4, dtype=bool), 0.0, np.nan), atol=1e-12)


def test_the_figures_can_be_read() -> None:
    plane = principal_plane(RNG.normal(size=(46, 4)))
    kinds = [TYPES[i % len(TYPES)] for i in range(40)]
    types = RNG.integers(0, len(TYPES), (12, 12, 3))
    pairs = [(RNG.lognormal(size=50), RNG.lognormal(size=50))] * 12
    figures = (
        psi_plots.draw_by_cluster(clusters(6, 12, 20), MODEL),
        psi_plots.draw_top_types(types, MODEL),
        psi_plots.draw_static_contextual(pairs, 10, MODEL),
        psi_plots.draw_plane(plane, kinds, MODEL),
        psi_plots.draw_cosines(np.array([0, 3, 10, 0]), {"[CLS]": 0.99}, MODEL),
        psi_plots.draw_position_attention(RNG.dirichlet(np.ones(64), size=(12, 64)), False, MODEL),
    )
    for figure in figures:
        check_print(figure, MODEL)
    np.testing.assert_array_equal(figures[1].axes[0].images[0].get_array(), types.reshape(12, -1))
