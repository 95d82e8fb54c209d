import numpy as np
import pytest

from ops.topk.neurons import Neurons


@pytest.mark.parametrize("widths", [(3,), (2, 2, 2), (1, 4, 2)])
def test_names_run_through_the_layers(widths: tuple[int, ...]) -> None:
    neurons = Neurons(widths)
    expected = [(layer, unit) for layer, width in enumerate(widths, 1) for unit in range(width)]
    layers, units = neurons.name(np.arange(len(neurons)))
    assert list(zip(layers.tolist(), units.tolist(), strict=True)) == expected
    assert layers.dtype == units.dtype == np.int16


def test_any_places_in_any_order() -> None:
    layers, units = Neurons((384,) * 6).name(np.array([2303, 0, 384]))
    assert layers.tolist() == [6, 1, 2]
    assert units.tolist() == [383, 0, 0]
