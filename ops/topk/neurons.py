"""Neurons and their sets of winners by number: the neurons of the first layer, then those of the next, and so on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ops.arrays import Int16s, Int32s, Int64s, Integers
from ops.errors import InputError
from ops.schema import layer_widths
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk.neuron_names import in_order

# In the order of tables that are sorted by pole.
POLES = ("bottom", "top")

# Neurons in a part of topk/ and of neurons/, and in a row group of the shards' files; work is divided by these.
NEURONS_PER_PART = 256

Numbers = TypeVar("Numbers", int, Int64s)


@dataclass(frozen=True)
class Neurons:
    """The units of a run: `widths[i]` of them in layer `first` + i, where 0 means that the layer has none.

    Neurons start at layer 1. Features of dictionaries may be in only some layers, including layer 0, the embeddings.
    """

    widths: tuple[int, ...]
    first: int = 1

    @classmethod
    def of_layers(cls, widths: Mapping[int, int]) -> "Neurons":
        """Return the units of these layers, given as the number of units by layer.

        >>> Neurons.of_layers({4: 16, 2: 8})
        Neurons(widths=(0, 8, 0, 16), first=1)
        """
        first = min(1, *widths)
        return cls(tuple(widths.get(layer, 0) for layer in range(first, max(widths) + 1)), first)

    def __len__(self) -> int:
        return sum(self.widths)

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that have units, ascending."""
        return tuple(layer for layer, width in enumerate(self.widths, self.first) if width)

    @property
    def by_layer(self) -> dict[int, int]:
        """The number of units of each layer that has some."""
        return {layer: self.width(layer) for layer in self.layers}

    def width(self, layer: int) -> int:
        """Return the number of units of a layer; 0 if there is no such layer."""
        place = layer - self.first
        return self.widths[place] if 0 <= place < len(self.widths) else 0

    def span(self, layer: int) -> tuple[int, int]:
        """Return the number of a layer's first unit, and the number after its last one."""
        start = sum(self.widths[: max(layer - self.first, 0)])
        return start, start + self.width(layer)

    def layer_and_unit(self, neuron: Integers) -> tuple[Int16s, Int32s]:
        """Return layers and units (from 0) of neurons by number, each `[neurons]`, int16 and int32."""
        starts = self._starts()
        place = np.searchsorted(starts, neuron, side="right") - 1
        return (place + self.first).astype(np.int16), (neuron - starts[place]).astype(np.int32)

    def number(self, layer: Integers, unit: Integers) -> Int64s:
        """Return the numbers of neurons by layer and unit (from 0), `[neurons]`."""
        return np.asarray(self._starts()[layer - self.first] + unit)

    def named(self, names: Sequence[str]) -> Int64s:
        """Return the numbers of the neurons with these names, `LAYER:UNIT`, ascending; all neurons without names.

        Raises:
            InputError: one of them is not a neuron of the model.
        """
        if not names:
            return np.arange(len(self))
        numbers = []
        for name in in_order("--units", names):
            layer, unit = map(int, name.split(":"))
            if unit >= self.width(layer):
                raise InputError(f"--units {name}: there is no such neuron; {self.known()}")
            numbers.append(self.span(layer)[0] + unit)
        return np.array(numbers, np.int64)

    def known(self) -> str:
        """Describe the available layers and units as text, for a message."""
        last = self.first + len(self.widths) - 1
        layers = f"layers run from {self.first} to {last}"
        if 0 in self.widths:
            layers = f"layers are {', '.join(map(str, self.layers))}"
        return f"{layers}, units from 0 to {max(self.widths, default=0) - 1}"

    def _starts(self) -> Int64s:
        return np.cumsum([0, *self.widths[:-1]])


def read_neurons(store: Store) -> Neurons:
    """Return the units of a run, from `activations/`."""
    with store.parquet(part_name("activations", 0)) as file:
        return Neurons.of_layers(layer_widths(file.schema_arrow))


def set_number(neuron: Numbers, pole: Numbers) -> Numbers:
    """Return the number of a neuron's set of winners at a pole, given as its index in `POLES`.

    >>> set_number(7, POLES.index("top")), neuron_and_pole(15)
    (15, (7, 1))
    """
    return len(POLES) * neuron + pole


def neuron_and_pole(number: Numbers) -> tuple[Numbers, Numbers]:
    """Return the neuron, and the index of the pole in `POLES`, of a set of winners given by number."""
    return number // len(POLES), number % len(POLES)


def part_of(neuron: Numbers) -> Numbers:
    """Return the part of topk/ and of neurons/ in which a neuron is."""
    return neuron // NEURONS_PER_PART


def parts(neurons: int) -> Iterator[tuple[int, int, int]]:
    """Return (part, first neuron, stop) of each part of so many neurons."""
    for part, first in enumerate(range(0, neurons, NEURONS_PER_PART)):
        yield part, first, min(first + NEURONS_PER_PART, neurons)
