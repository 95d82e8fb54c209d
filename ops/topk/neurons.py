"""Neurons and their sets of winners by number: the neurons of layer 1 first, then those of layer 2, and so on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ops.arrays import Int16s, Int32s, Int64s, Integers
from ops.errors import InputError
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk.neuron_names import in_order

# In the order in which tables that are sorted by pole have them.
POLES = ("bottom", "top")

# Neurons of a part of topk/ and of neurons/, and of a row group of the shards' files: work on neurons is by these.
NEURONS_PER_PART = 256

Numbers = TypeVar("Numbers", int, Int64s)


@dataclass(frozen=True)
class Neurons:
    """The neurons of a model at one site: `widths[i]` units in layer i + 1."""

    widths: tuple[int, ...]

    def __len__(self) -> int:
        return sum(self.widths)

    def layer_and_unit(self, neuron: Integers) -> tuple[Int16s, Int32s]:
        """Return layers (from 1) and units (from 0) of neurons by number, each `[neurons]`, int16 and int32."""
        starts = self._starts()
        layer = np.searchsorted(starts, neuron, side="right")
        return layer.astype(np.int16), (neuron - starts[layer - 1]).astype(np.int32)

    def number(self, layer: Integers, unit: Integers) -> Int64s:
        """Return the numbers of neurons by layer (from 1) and unit (from 0), `[neurons]`."""
        return np.asarray(self._starts()[layer - 1] + unit)

    def named(self, names: Sequence[str]) -> Int64s:
        """Return the numbers of the neurons with these names, `LAYER:UNIT`, ascending; of no names those of all.

        Raises:
            InputError: one of them is no neuron of the model.
        """
        if not names:
            return np.arange(len(self))
        numbers = []
        for name in in_order("--units", names):
            layer, unit = map(int, name.split(":"))
            if not (1 <= layer <= len(self.widths) and unit < self.widths[layer - 1]):
                there = f"layers run from 1 to {len(self.widths)}, units from 0 to {max(self.widths, default=0) - 1}"
                raise InputError(f"--units {name}: there is no such neuron; {there}")
            numbers.append(sum(self.widths[: layer - 1]) + unit)
        return np.array(numbers, np.int64)

    def _starts(self) -> Int64s:
        return np.cumsum([0, *self.widths[:-1]])


def layer_widths(store: Store) -> tuple[int, ...]:
    """Return the units of each layer of a run, from `activations/`."""
    with store.parquet(part_name("activations", 0)) as file:
        return tuple(field.type.list_size for field in file.schema_arrow if field.name.startswith("layer_"))


def set_number(neuron: Numbers, pole: Numbers) -> Numbers:
    """Return the number of a neuron's set of winners at a pole, given as its place in `POLES`.

    >>> set_number(7, POLES.index("top")), neuron_and_pole(15)
    (15, (7, 1))
    """
    return len(POLES) * neuron + pole


def neuron_and_pole(number: Numbers) -> tuple[Numbers, Numbers]:
    """Return the neuron, and the place of the pole in `POLES`, of a set of winners by its number."""
    return number // len(POLES), number % len(POLES)


def part_of(neuron: Numbers) -> Numbers:
    """Return the part of topk/ and of neurons/ in which a neuron is."""
    return neuron // NEURONS_PER_PART


def parts(neurons: int) -> Iterator[tuple[int, int, int]]:
    """Return (part, first neuron, stop) of each part of so many neurons."""
    for part, first in enumerate(range(0, neurons, NEURONS_PER_PART)):
        yield part, first, min(first + NEURONS_PER_PART, neurons)
