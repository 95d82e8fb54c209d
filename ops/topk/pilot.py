"""What the pilot of `topk` finds before the first shard is scored, and its file."""

import json
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from ops.arrays import Float32s
from ops.storage.store import Store
from ops.topk.partial_file import by_neuron, read_matrix, write_table

_WIDTHS, _EQUAL_LENGTHS, _GPU = b"atlas.widths", b"atlas.alike", b"atlas.gpu"


@dataclass(frozen=True)
class Pilot:
    """What is fixed for all shards.

    Attributes:
        edges: the inner edges of every neuron's histogram, `[neurons, bins - 1]` float32.
        widths: units of each layer.
        equal_lengths: whether padding changes what the model computes, so that batches hold sentences of one length.
        gpu: the kind of GPU that it was found on; None on a CPU.
    """

    edges: Float32s
    widths: tuple[int, ...]
    equal_lengths: bool
    gpu: str | None

    def write(self, store: Store, path: str, footer: dict[bytes, bytes]) -> None:
        """Commit the file, with `footer` among its metadata."""
        facts = {_WIDTHS: self.widths, _EQUAL_LENGTHS: self.equal_lengths, _GPU: self.gpu}
        own = {key: json.dumps(value).encode() for key, value in facts.items()}
        table = pa.table({"edges": by_neuron(self.edges)}).replace_schema_metadata(footer | own)
        store.commit(path, partial(write_table, table))

    @classmethod
    def read(cls, store: Store, path: str) -> "Pilot":
        """Return what a pilot's file holds; of an old one that says nothing of lengths or of a GPU, neither."""
        with store.parquet(path) as file:
            table = file.read()
        said = {key: json.loads(table.schema.metadata.get(key, b"null")) for key in (_WIDTHS, _EQUAL_LENGTHS, _GPU)}
        edges = read_matrix(table, "edges")
        return cls(edges, tuple(said[_WIDTHS] or ()), bool(said[_EQUAL_LENGTHS]), said[_GPU])
