import numpy as np
import pytest

from ops.psi import figures
from ops.psi.token_types import TYPES
from ops.statistics.principal_plane import principal_plane
from tests.unit.figure_letters import check_print

RNG = np.random.default_rng(0)


def clusters(*shape: int) -> np.ndarray:
    return -np.sort(-RNG.lognormal(size=shape))


def test_a_panel_a_layer_with_the_extreme_heads_and_the_mean_of_all() -> None:
    psi = clusters(5, 3, 20)
    figure = figures.clusters_figure(psi)
    panels = [axes for axes in figure.axes if axes.axison]
    for axes, own in zip(panels, psi, strict=True):
        high, low = own[:, 0].argmax(), own[:, 0].argmin()
        assert f"highest {high}, lowest {low}" in " ".join(axes.get_title().split())
        expected = (own[high], own[low], own.mean(0))
        for line, values in zip(axes.lines, expected, strict=True):
            np.testing.assert_allclose(np.asarray(line.get_ydata()), values, rtol=1e-6)
    assert [len(axes.lines) for axes in figures.clusters_figure(clusters(2, 1, 5)).axes] == [2, 2], "one head"


def test_attention_is_drawn_relative_to_equal_weights() -> None:
    equal = np.tril(np.ones((2, 4, 4))) / np.arange(1, 5)[:, None]
    shown = np.ma.filled(figures.attention_figure(equal, True).axes[0].images[0].get_array(), np.nan)
    np.testing.assert_allclose(shown, np.where(np.tri(4, dtype=bool), 0.0, np.nan), atol=1e-12)


@pytest.mark.slow
def test_the_figures_can_be_read() -> None:
    plane = principal_plane(RNG.normal(size=(46, 4)))
    kinds = [TYPES[i % len(TYPES)] for i in range(40)]
    types = RNG.integers(0, len(TYPES), (12, 12, 3))
    pairs = [(RNG.lognormal(size=50), RNG.lognormal(size=50))] * 12
    drawn = (
        figures.clusters_figure(clusters(6, 12, 20)),
        figures.types_figure(types),
        figures.pairs_figure(pairs),
        figures.plane_figure(plane, kinds),
        figures.cosines_figure(np.array([0, 3, 10, 0]), {"[CLS]": 0.99}),
        figures.attention_figure(RNG.dirichlet(np.ones(64), size=(12, 64)), False),
    )
    for figure in drawn:
        check_print(figure)
    np.testing.assert_array_equal(drawn[1].axes[0].images[0].get_array(), types.reshape(12, -1))
