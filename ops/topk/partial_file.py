"""One shard's partial file: a row for each neuron with its winners so far, moments, histogram and sampled activations.

A shard's file has a row group for each part of the neurons, which is read when that part is merged. After them comes a
second row for each neuron, with only its histogram and sample. These rows are in one row group, because they are read
for all neurons at once. On object storage, each column of a row group takes one request: without this row group, a
file of 36 parts took 36 requests.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from scipy.sparse import csr_array, issparse

from ops.arrays import Arrays, Float32s, Int64s, Integers
from ops.reducers.moments import Moments
from ops.reducers.top_k import EMPTY, MAX_IDS, decode_keys, encode_keys, keys_of_span
from ops.storage.store import Store
from ops.storage.tables import stored_columns
from ops.topk.neurons import POLES, parts

# The winners so far of each pole that the run keeps and, if such winners are kept, within data sets, one data set after
# another; ids identify the data set.
_WINNERS = {p: (f"{p}_activation", f"{p}_sent_id") for p in POLES}
_WITHIN = {p: (f"{p}_dataset_activation", f"{p}_dataset_sent_id") for p in POLES}
_MOMENTS = ("mean", "m2", "m3", "m4", "min", "max")
HISTOGRAM = "histogram"  # the counts of a neuron's bins, packed into one binary value
TOKENS_ACTIVE, SAMPLE_PLACE = "tokens_active", "sample_place"  # only if units are sparse features
MERGED_COLUMNS = [
    *(name for names in (*_WINNERS.values(), *_WITHIN.values()) for name in names),
    *("n", *_MOMENTS, TOKENS_ACTIVE, HISTOGRAM),
]
OF_ALL = [HISTOGRAM, "sample", SAMPLE_PLACE]  # read for all neurons at once; the histogram also when a part is merged
_OF_ALL_BYTES = 1 << 26  # maximum bytes of these columns in a row group; larger samples are split into more groups
_BYTES = b"atlas.bytes"  # metadata key: bytes of each packed count
_COUNTS = (np.uint16, np.uint32, np.int64)
DAMAGE = (OSError, pa.ArrowException)  # raised if a file is damaged


@dataclass
class ShardRows:
    """A shard's result, a row for each neuron, computed one part of the neurons at a time.

    All neurons at once would need several times the memory of the winners themselves; one row group does not.

    Attributes:
        neurons: number of neurons.
        make: computes the table of the neurons from `first` to `stop` - 1.
        of_all: computes only the columns `OF_ALL` of the table that `make` computes.
        held: the tables of the first parts, if they were already computed.
    """

    neurons: int
    make: Callable[[int, int], pa.Table]
    of_all: Callable[[int, int], pa.Table]
    held: list[pa.Table] = field(default_factory=list)

    @property
    def in_file(self) -> int:
        """The number of rows that `write` writes."""
        return 2 * self.neurons

    def hold(self, most: int) -> bool:
        """Compute parts and keep them until they take more than `most` bytes; return whether all parts fit.

        The kept parts no longer depend on the reducers' winners.
        """
        size = 0
        for _, first, stop in parts(self.neurons):
            self.held.append(self.make(first, stop))
            size += self.held[-1].nbytes
            if size > most:
                return False
        return True

    def parts(self) -> Iterator[pa.Table]:
        """Yield the table of each part of the neurons, in order."""
        yield from self.held
        for _, first, stop in list(parts(self.neurons))[len(self.held) :]:
            yield self.make(first, stop)

    def write(self, path: str, footer: dict[bytes, bytes]) -> None:
        """Write a shard's file to a local path; only one part's winners are in memory at a time."""
        schema = (self.held[0] if self.held else self.make(0, 0)).schema.with_metadata(footer)
        together = max(_OF_ALL_BYTES // max(self.of_all(0, 1).nbytes, 1), 1)
        with _writer(path, schema) as writer:
            for group in self.parts():
                writer.write_table(_only(group, MERGED_COLUMNS, schema))
            for first in range(0, self.neurons, together):
                group = self.of_all(first, min(first + together, self.neurons))
                writer.write_table(_only(group, OF_ALL, schema), row_group_size=len(group))


def read_of_all(store: Store, path: str, *columns: str) -> pa.Table:
    """Return some of the columns `OF_ALL` of a shard's file for all neurons.

    On object storage each column takes one request.
    """
    with store.parquet(path) as file:
        first = len(list(parts(file.metadata.num_rows // 2)))
        return file.read_row_groups(list(range(first, file.num_row_groups)), columns=list(columns))


def _only(table: pa.Table, names: list[str], schema: pa.Schema) -> pa.Table:
    """Return a table with the named columns filled and all other columns null."""
    columns = [table[f.name] if f.name in names else pa.nulls(len(table), f.type) for f in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def winners_in_shard(
    keys: torch.Tensor, first: int, stop: int, bound: torch.Tensor | None = None, pole: str = "top"
) -> tuple[pa.Array, pa.Array]:
    """Return the activations and ids of the winners so far that belong to one shard, as list columns by neuron.

    Args:
        keys: a reducer's result, `[neurons, k]` int64.
        first, stop: the shard's sentence ids, from `first` to `stop` - 1.
        bound: the bound of each neuron, `[neurons]` float32; activations below it cannot win.
        pole: at the `bottom`, the reducer's negation is undone.
    """
    lowest = torch.full((len(keys),), EMPTY + 1).to(keys) if bound is None else encode_keys(bound, MAX_IDS - 1)
    winners, counts = keys_of_span(keys, lowest, first, stop)
    offsets = np.concatenate([[0], np.cumsum(counts.cpu().numpy())]).astype(np.int32)
    values, ids = (tensor.cpu().numpy() for tensor in decode_keys(winners))
    values = values if pole == "top" else 0.0 - values
    return tuple(pa.ListArray.from_arrays(offsets, pa.array(own)) for own in (values, ids))  # type: ignore[return-value]


def by_neuron(matrix: Arrays) -> pa.Array:
    """Return a matrix `[neurons, m]` as a list column."""
    offsets = np.arange(len(matrix) + 1, dtype=np.int32) * matrix.shape[1]
    return pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(matrix).ravel()))


def shard_table(
    poles: dict[str, tuple[pa.Array, pa.Array]],
    moments: Moments,
    histogram: Int64s,
    sample: Float32s | csr_array,
    largest: int | None = None,
    tokens_active: Int64s | None = None,
    within: Mapping[str, tuple[pa.Array, pa.Array]] | None = None,
) -> pa.Table:
    """Return a shard's result as a table with one row for each neuron.

    Args:
        poles: the two list columns of each pole that the run keeps, as `winners_in_shard` returns them.
        moments: the moments of the shard's activations.
        histogram: the histogram's counts, `[neurons, bins]`.
        sample: the activations of the shard's sampled sentences, `[neurons, sampled]` float32; sparse for features.
        largest: the largest count of all neurons of the file; None if these rows are all neurons.
        tokens_active: number of tokens at which each feature is active, `[neurons]`; None if units are not sparse.
        within: the two list columns of each pole's winners so far within data sets, if such winners are kept.
    """
    columns: dict[str, Any] = {}
    for names, sets in ((_WINNERS, poles), (_WITHIN, within or {})):
        for pole, pair in sets.items():
            columns |= dict(zip(names[pole], pair, strict=True))
    columns["n"] = np.full(len(moments.mean), moments.n)
    columns |= {name: getattr(moments, name) for name in _MOMENTS}
    if tokens_active is not None:
        columns[TOKENS_ACTIVE] = tokens_active
    table, of_all = pa.table(columns), of_all_table(histogram, sample, largest)
    for described, column in zip(of_all.schema, of_all.columns, strict=True):
        table = table.append_column(described, column)
    return table


def of_all_table(histogram: Int64s, sample: Float32s | csr_array, largest: int | None = None) -> pa.Table:
    """Return the columns `OF_ALL` of some neurons; the arguments are those of `shard_table`."""
    counts, size = pack_counts(histogram, largest)
    columns = [counts, *(list_columns(sample) if issparse(sample) else [by_neuron(sample)])]
    fields = [pa.field(name, column.type) for name, column in zip(OF_ALL, columns, strict=False)]
    fields[0] = fields[0].with_metadata({_BYTES: str(size).encode()})
    return pa.table(columns, schema=pa.schema(fields))


def list_columns(matrix: csr_array) -> list[pa.ListArray]:
    """Return the nonzero values of a sparse matrix, and the columns that contain them, with a list for each row."""
    offsets = matrix.indptr.astype(np.int32)
    return [pa.ListArray.from_arrays(offsets, pa.array(a)) for a in (matrix.data, matrix.indices.astype(np.int32))]


def pack_counts(counts: Integers, largest: int | None = None) -> tuple[pa.FixedSizeBinaryArray, int]:
    """Pack counts `[neurons, bins]` into one value for each neuron; return the values and the bytes of each count.

    Every count takes the number of bytes that the largest count needs. Pass `largest` if the file contains further
    counts, which may be larger.
    """
    largest = int(counts.max(initial=0)) if largest is None else largest
    kind = next(kind for kind in _COUNTS if largest <= np.iinfo(kind).max)
    packed = np.ascontiguousarray(counts.astype(kind))
    width = packed.shape[1] * packed.itemsize
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(packed), [None, pa.py_buffer(packed)])
    return column, packed.itemsize


def read_counts(table: pa.Table) -> Integers:
    """Return the counts of a part's histograms, `[neurons, bins]`, in the type that `pack_counts` chose."""
    column = table[HISTOGRAM].combine_chunks()
    size = int(table.schema.field(HISTOGRAM).metadata[_BYTES])
    kind = next(kind for kind in _COUNTS if np.dtype(kind).itemsize == size)
    bins = column.type.byte_width // size
    counts: Integers = np.frombuffer(column.buffers()[1], kind)
    return counts.reshape(-1, bins)[column.offset : column.offset + len(column)]


def _writer(path: str, schema: pa.Schema) -> pq.ParquetWriter:
    columns = stored_columns(schema)
    # The driver reads the histograms of all shards, so they use a codec that is fast to decompress.
    other = {HISTOGRAM: "lz4"}
    return pq.ParquetWriter(
        path,
        schema,
        # The sample is stored only temporarily, and compression would save only a tenth of its size.
        compression={p: "none" if p.startswith("sample.") else other.get(p, "zstd") for p in columns},
        write_page_checksum=True,
        use_dictionary=False,
        use_byte_stream_split=[
            p for p, is_float in columns.items() if p == HISTOGRAM or (is_float and not p.startswith("sample."))
        ],
    )


def read_keys(table: pa.Table, pole: str, within: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a part's winners so far at one pole: their neurons' indices in the part, and their keys, each `[pairs]`.

    With `within`, return instead the winners within the data sets that have their own winners.
    """
    values, ids = (table[name].combine_chunks() for name in (_WITHIN if within else _WINNERS)[pole])
    lengths = np.diff(values.offsets.to_numpy())
    neuron = torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths))
    activation = torch.from_numpy(values.flatten().to_numpy(zero_copy_only=False).copy())
    sent_id = torch.from_numpy(ids.flatten().to_numpy(zero_copy_only=False).copy())
    return neuron, encode_keys(activation if pole == "top" else -activation, sent_id)


def read_moments(table: pa.Table) -> Moments:
    """Return the moments of a part's neurons."""
    return Moments(int(table["n"][0].as_py()), **{name: table[name].to_numpy() for name in _MOMENTS})


def read_matrix(table: pa.Table, name: str) -> Arrays:
    """Return the list column `name`, whose lists all have the same length, as a matrix `[neurons, length]`."""
    column = table[name].combine_chunks()
    flat = np.asarray(column.flatten().to_numpy(zero_copy_only=False))
    return flat.reshape(len(column), len(flat) // max(len(column), 1))
