"""The pilot of `topk`, which fixes settings for all shards before the first shard is scored, and its file."""

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ops.arrays import Float32s
from ops.storage.store import Store
from ops.topk.neurons import Neurons
from ops.topk.partial_file import by_neuron, read_matrix, write_table

_WIDTHS, _FIRST, _EQUAL_LENGTHS, _GPU = b"atlas.widths", b"atlas.first", b"atlas.alike", b"atlas.gpu"
_EXPLAINED, _EXCESS = b"atlas.explained", b"atlas.excess"


@dataclass(frozen=True)
class Pilot:
    """The settings that the pilot fixes for all shards.

    Attributes:
        edges: the inner edges of every neuron's histogram, `[neurons, bins - 1]` float32.
        neurons: the units of each layer.
        equal_lengths: whether padding changes the model's output, so that all sentences of a batch must have the same
            length.
        gpu: the kind of GPU on which the pilot ran; None on a CPU.
        explained: the share of variance that each dictionary's reconstruction explains; None for a dictionary
            without a reconstruction.
        excess: the number of tokens divided by the number that the vocabulary allows.
    """

    edges: Float32s
    neurons: Neurons
    equal_lengths: bool
    gpu: str | None
    explained: tuple[float | None, ...] = ()
    excess: float = 1.0

    def write(self, path: str, footer: dict[bytes, bytes]) -> None:
        """Write the pilot to a local file, with `footer` added to its metadata."""
        facts: dict[bytes, Any] = {_WIDTHS: self.neurons.widths, _EQUAL_LENGTHS: self.equal_lengths, _GPU: self.gpu}
        if self.neurons.first != 1:
            facts[_FIRST] = self.neurons.first
        if self.explained:
            facts[_EXPLAINED] = self.explained
        if self.excess != 1:
            facts[_EXCESS] = self.excess
        own = {key: json.dumps(value).encode() for key, value in facts.items()}
        table = pa.table({"edges": by_neuron(self.edges)}).replace_schema_metadata(footer | own)
        write_table(table, path)

    @classmethod
    def read(cls, store: Store, path: str) -> "Pilot":
        """Return the pilot stored in a file; entries that an older file lacks get their default values."""
        with store.parquet(path) as file:
            table = file.read()
        keys = (_WIDTHS, _FIRST, _EQUAL_LENGTHS, _GPU, _EXPLAINED, _EXCESS)
        said = {key: json.loads(table.schema.metadata.get(key, b"null")) for key in keys}
        first = 1 if said[_FIRST] is None else said[_FIRST]
        neurons = Neurons(tuple(said[_WIDTHS] or ()), first)
        equal_lengths, explained = bool(said[_EQUAL_LENGTHS]), tuple(said[_EXPLAINED] or ())
        excess = 1.0 if said[_EXCESS] is None else said[_EXCESS]
        return cls(read_matrix(table, "edges"), neurons, equal_lengths, said[_GPU], explained, excess)
