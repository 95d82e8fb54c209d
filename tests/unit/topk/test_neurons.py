import numpy as np
import pytest

from ops.errors import InputError
from ops.topk.neurons import (
    NEURON,
    NEURONS_PER_PART,
    POLES,
    Neurons,
    neuron_and_pole,
    parse_pair,
    part_of,
    parts,
    set_number,
)


def test_layers_and_units_run_through_the_layers() -> None:
    widths = (1, 4, 2)
    neurons = Neurons(widths)
    expected = [(layer, unit) for layer, width in enumerate(widths, 1) for unit in range(width)]
    layers, units = neurons.layer_and_unit(np.arange(len(neurons)))
    assert list(zip(layers.tolist(), units.tolist(), strict=True)) == expected
    assert (layers.dtype, units.dtype) == (np.int16, np.int32)
    assert neurons.number(layers, units).tolist() == list(range(len(neurons)))


def test_any_places_in_any_order_and_units_past_two_bytes() -> None:
    neurons = Neurons((36_864, 36_864))
    numbers = np.array([36_864 + 32_768, 0, 36_863, 36_864])
    layers, units = neurons.layer_and_unit(numbers)
    assert (layers.tolist(), units.tolist()) == ([2, 1, 1, 2], [32_768, 0, 36_863, 0])
    assert neurons.number(layers, units).tolist() == numbers.tolist()


def test_neurons_by_their_names() -> None:
    neurons = Neurons((3, 1, 20))
    assert neurons.named([]).tolist() == list(range(24))
    assert neurons.named(["3:10", "3:2", "1:0", "2:00", "3:02"]).tolist() == [0, 3, 6, 14]
    assert neurons.named(["1:2", "3:19"]).tolist() == [2, 23]
    for name in ("0:0", "4:0", "1:3", "2:1", "3:20"):
        with pytest.raises(InputError, match=f"--units {name}: .* layers run from 1 to 3, units from 0 to 19"):
            neurons.named(["1:0", name])


def test_sets_of_winners_are_numbered_as_sorted_tables_have_them() -> None:
    assert tuple(sorted(POLES)) == POLES
    neuron, pole = np.repeat(np.arange(5), 2), np.tile(np.arange(2), 5)
    numbers = set_number(neuron, pole)
    assert numbers.tolist() == list(range(10))
    assert all(np.array_equal(a, b) for a, b in zip(neuron_and_pole(numbers), (neuron, pole), strict=True))
    assert [neuron_and_pole(set_number(3, POLES.index(name))) for name in ("bottom", "top")] == [(3, 0), (3, 1)]


def test_parts_cover_all_neurons() -> None:
    found = list(parts(2 * NEURONS_PER_PART + 1))
    assert found == [
        (0, 0, NEURONS_PER_PART),
        (1, NEURONS_PER_PART, 2 * NEURONS_PER_PART),
        (2, 2 * NEURONS_PER_PART, 2 * NEURONS_PER_PART + 1),
    ]
    for part, first, stop in found:
        assert {part_of(neuron) for neuron in (first, stop - 1)} == {part}


def test_a_neuron_is_two_whole_numbers() -> None:
    assert parse_pair("--neuron", "3:17", NEURON) == (3, 17)
    for text, said in (("", "is missing"), ("3", "expected LAYER"), ("1:" + "9" * 40, "no model is that large")):
        with pytest.raises(InputError, match=said):
            parse_pair("--neuron", text, NEURON)
