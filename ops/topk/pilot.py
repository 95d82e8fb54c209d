"""The pilot of `topk`, which fixes settings for all shards before the first shard is scored, and its file."""

import json
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from ops.arrays import Float32s
from ops.storage.store import Store
from ops.topk.neurons import NEURONS_PER_PART, Neurons
from ops.topk.partial_file import by_neuron, read_matrix

_FACTS = b"atlas.pilot"  # metadata key: everything but the edges


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
        facts = vars(self) | {"edges": None, "neurons": [self.neurons.widths, self.neurons.first]}
        table = pa.table({"edges": by_neuron(self.edges)})
        table = table.replace_schema_metadata(footer | {_FACTS: json.dumps(facts).encode()})
        pq.write_table(
            table, path, row_group_size=NEURONS_PER_PART, compression="zstd", use_dictionary=False,
            use_byte_stream_split=True, write_page_checksum=True,
        )  # fmt: skip

    @classmethod
    def read(cls, store: Store, path: str) -> "Pilot":
        """Return the pilot stored in a file."""
        with store.parquet(path) as file:
            table = file.read()
        facts = json.loads(table.schema.metadata[_FACTS])
        widths, first = facts["neurons"]
        tuples = {"neurons": Neurons(tuple(widths), first), "explained": tuple(facts["explained"])}
        return cls(**facts | tuples | {"edges": read_matrix(table, "edges")})
