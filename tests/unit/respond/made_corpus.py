"""A finished run in memory, made from the activations of all sentences of a corpus."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import torch

from ops.arrays import Bools, Float32s, Int64s
from ops.reducers.histogram import edges_from_pilot, edges_of_sparse
from ops.respond.corpus import Corpus, Sample
from ops.respond.tails import Distributions
from ops.schema import activations_schema
from ops.topk.neurons import Neurons

Rows = list[dict[str, Any]]


class MadeTables:
    """Tables in memory that are read as those of a run."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self._tables = {name: ds.dataset(table) for name, table in tables.items()}
        self.read_units: list[int] = []
        self.store = SimpleNamespace()

    def dataset(self, table: str) -> ds.Dataset:
        return self._tables[table]

    def read(self, table: str, where: pc.Expression | None = None, columns: list[str] | None = None) -> pa.Table:
        return self._tables[table].to_table(filter=where, columns=columns)


def made_corpus(
    values: Float32s,
    lengths: Int64s,
    sampled: Int64s,
    *,
    k: int = 20,
    widths: tuple[int, ...] = (),
    sparse: bool = False,
) -> Corpus:
    """Return what a run knows of a corpus.

    Args:
        values: the activations of all sentences, `[sentences, units]`.
        lengths: their numbers of tokens.
        sampled: the ids of the sentences of the activation sample, ascending.
        k: the number of winners.
        widths: the number of units of each layer; all in one by default.
        sparse: whether units are sparse features.
    """
    neurons, poles = Neurons(widths or (values.shape[1],)), ("top",) if sparse else ("top", "bottom")
    wide = torch.from_numpy(values)
    edges = (edges_of_sparse(wide.amax(0)) if sparse else edges_from_pilot(wide[:: max(len(wide) // 300, 1)])).numpy()
    counts = [
        np.bincount(np.searchsorted(own, column, "right"), minlength=len(own) + 1)
        for own, column in zip(edges, values.T, strict=True)
    ]
    layer, unit = neurons.layer_and_unit(np.arange(values.shape[1]))
    rows: Rows = []
    winners: Rows = []
    for at, column in enumerate(values.T):
        row: dict[str, Any] = {
            "layer": layer[at], "unit": unit[at], "mean": column.mean(dtype=float), "std": column.std(dtype=float),
            "min": column.min(), "max": column.max(), "histogram_edges": edges[at], "histogram_counts": counts[at],
            "top_threshold": None, "bottom_threshold": None,
        }  # fmt: skip
        for pole in sorted(poles):
            order = np.argsort(-column if pole == "top" else column, kind="stable")[:k]
            order = order[column[order] > 0] if sparse else order
            row[f"{pole}_threshold"] = column[order[-1]] if len(order) else None
            own = {"layer": layer[at], "unit": unit[at], "pole": pole}
            winners += [own | {"activation": column[i], "sent_id": i, "rank": rank} for rank, i in enumerate(order, 1)]
        rows.append(row)
    types = {"layer": pa.int16(), "unit": pa.int32(), "top_threshold": pa.float32(), "bottom_threshold": pa.float32()}
    table = pa.Table.from_pylist(rows)
    for name, kind in types.items():
        table = table.set_column(table.column_names.index(name), name, table[name].cast(kind))
    topk = pa.Table.from_pylist(winners, pa.schema([
        ("layer", pa.int16()), ("unit", pa.int32()), ("pole", pa.string()), ("rank", pa.int32()),
        ("activation", pa.float32()), ("sent_id", pa.int64()),
    ]))  # fmt: skip
    tables: Any = MadeTables({"neurons": table, "topk": topk, "activations": _sample(values, sampled, neurons, sparse)})
    known = Distributions.read(tables, neurons, len(values), k, poles, sparse)
    return Corpus(tables, (), neurons, known, Sample(sampled, lengths[sampled]), poles, k, 7)


def _sample(values: Float32s, sampled: Int64s, neurons: Neurons, sparse: bool) -> pa.Table:
    layout, columns = activations_schema(neurons.by_layer, sparse), [pa.array(sampled)]
    for layer in neurons.layers:
        own = values[sampled][:, slice(*neurons.span(layer))]
        if not sparse:
            columns.append(pa.array(own.tolist(), pa.list_(pa.float32(), own.shape[1])))
            continue
        active = [np.flatnonzero(row) for row in own]
        columns.append(pa.array([where.tolist() for where in active], pa.list_(pa.int32())))
        columns.append(
            pa.array([row[where].tolist() for row, where in zip(own, active, strict=True)], pa.list_(pa.float32()))
        )
    return pa.table(columns, schema=layout)


def brute_tails(corpus: Float32s, values: Float32s, is_own: Bools, upper_only: bool = False) -> np.ndarray[Any, Any]:
    """Return signed tails by counting over the whole corpus, `[texts, units]`; own sentences are left out."""
    found = np.full(values.shape, np.nan)
    for text, own in enumerate(is_own):
        sentences = len(corpus) - own
        up = (1 + (corpus >= values[text]).sum(0) - own) / (1 + sentences)
        down = (1 + (corpus <= values[text]).sum(0) - own) / (1 + sentences)
        if upper_only:
            found[text] = np.where(values[text] > 0, up, np.nan)
        else:
            found[text] = np.where(up <= down, np.minimum(2 * up, 1), -np.minimum(2 * down, 1))
    return found
