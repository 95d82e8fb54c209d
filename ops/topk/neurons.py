"""Indices of neurons and of their sets of winners, counted through the layers from the first to the last.

It also parses the values of flags that name a neuron, or anything else that is identified by two numbers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int16s, Int32s, Int64s, Integers
from ops.errors import InputError, one_line
from ops.schema import layer_widths
from ops.storage.store import Store
from ops.storage.tables import part_name

# In the order in which tables are sorted by pole.
POLES = ("bottom", "top")

# Number of neurons in a part of topk/ and neurons/, and in a row group of the shards' files; a task is one such part.
NEURONS_PER_PART = 256

NEURON = "LAYER:UNIT, such as 3:17 (layers from 1, units from 0)"
MOST_DIGITS = 9  # maximum number of digits of a layer, a unit or a head

Numbers = TypeVar("Numbers", int, Int64s)


@dataclass(frozen=True)
class Neurons:
    """The units of a run: layer `first` + i has `widths[i]` units, or 0 if it is not part of the run.

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
        """The number of units of each layer that has any."""
        return {layer: self.width(layer) for layer in self.layers}

    def width(self, layer: int) -> int:
        """Return the number of units of a layer; 0 if there is no such layer."""
        place = layer - self.first
        return self.widths[place] if 0 <= place < len(self.widths) else 0

    def span(self, layer: int) -> tuple[int, int]:
        """Return the index of a layer's first unit, and the index after its last unit."""
        start = sum(self.widths[: max(layer - self.first, 0)])
        return start, start + self.width(layer)

    def layer_and_unit(self, neuron: Integers) -> tuple[Int16s, Int32s]:
        """Return the layer (int16) and the unit within it (int32, from 0) of neurons given by index, `[neurons]`."""
        starts = self._starts()
        place = np.searchsorted(starts, neuron, side="right") - 1
        return (place + self.first).astype(np.int16), (neuron - starts[place]).astype(np.int32)

    def number(self, layer: Integers, unit: Integers) -> Int64s:
        """Return the indices of neurons given by layer and unit (from 0), `[neurons]`."""
        return np.asarray(self._starts()[layer - self.first] + unit)

    def set_numbers(self, rows: pa.Table) -> Int64s:
        """Return the `set_number` of each row of a table with the columns `layer`, `unit` and `pole`, `[rows]`."""
        neuron = self.number(rows["layer"].to_numpy(), rows["unit"].to_numpy())
        return set_number(neuron, pc.index_in(rows["pole"], pa.array(POLES)).to_numpy().astype(np.int64))

    def named(self, names: Sequence[str]) -> Int64s:
        """Return the indices, ascending, of the neurons named `LAYER:UNIT`; without names, the indices of all neurons.

        Raises:
            InputError: a name is not that of a neuron of the model.
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
        """Return a description of the available layers and units, for a message."""
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
    """Return the index of a neuron's set of winners at a pole; the pole is given as its index in `POLES`.

    >>> set_number(7, POLES.index("top")), neuron_and_pole(15)
    (15, (7, 1))
    """
    return len(POLES) * neuron + pole


def neuron_and_pole(number: Numbers) -> tuple[Numbers, Numbers]:
    """Return the neuron, and the index of the pole in `POLES`, of a set of winners given by its index."""
    return number // len(POLES), number % len(POLES)


def part_of(neuron: Numbers) -> Numbers:
    """Return the index of the part of topk/ and neurons/ that contains a neuron."""
    return neuron // NEURONS_PER_PART


def parts(neurons: int) -> Iterator[tuple[int, int, int]]:
    """Yield (part, first neuron, stop) for each part of a total of `neurons` neurons."""
    for part, first in enumerate(range(0, neurons, NEURONS_PER_PART)):
        yield part, first, min(first + NEURONS_PER_PART, neurons)


def parse_pair(flag: str, text: str, expected: str) -> tuple[int, int]:
    """Return the two integers of a text that separates them by a colon.

    Raises:
        InputError: the text is anything else; the message names `expected`.
    """
    first, colon, second = text.partition(":")
    if not text:
        raise InputError(f"{flag} is missing: name {expected}")
    if not (colon and first.isdecimal() and second.isdecimal()):
        raise InputError(f"{flag} {text!r}: expected {expected}")
    if max(len(first), len(second)) > MOST_DIGITS:
        raise InputError(f"{flag} {one_line(text, 60)}: no model is that large; expected {expected}")
    return int(first), int(second)


def in_order(flag: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the neurons that a flag names, sorted by layer and unit, each once and in normal form.

    Raises:
        InputError: a name is not LAYER:UNIT.

    >>> in_order("--units", ["10:3", "2:07", "2:7"])
    ('2:7', '10:3')
    """
    return tuple(f"{layer}:{unit}" for layer, unit in sorted({parse_pair(flag, name, NEURON) for name in names}))
