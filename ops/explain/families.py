"""Families of neurons: neurons whose activations correlate are one finding, represented by the best of them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Bools, Float32s, Float64s, Floats, Int32s, Int64s
from ops.topk.neurons import POLES, Neurons, neuron_and_pole

LEAST_CORRELATION = 0.6
_UNITS = 512  # number of units compared at once


@dataclass(frozen=True)
class Pairs:
    """Neurons whose activations correlate, with each pair in both orders.

    Attributes:
        neuron: number of the first neuron, ascending, `[pairs]`.
        other: number of the second neuron, ascending for each first one, `[pairs]`.
        correlation: Pearson correlation, `[pairs]`.
    """

    neuron: Int64s
    other: Int64s
    correlation: Float32s

    @classmethod
    def joined(cls, parts: list["Pairs"]) -> "Pairs":
        """Concatenate the pairs of consecutive blocks of neurons."""
        return cls(
            np.concatenate([np.zeros(0, np.int64), *(part.neuron for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.other for part in parts)]),
            np.concatenate([np.zeros(0, np.float32), *(part.correlation for part in parts)]),
        )


def vector_pairs(vectors: Float32s, first: int, stop: int, least: float = LEAST_CORRELATION) -> Pairs:
    """Return the pairs of each neuron of a block with all other neurons whose activations correlate with its own.

    Args:
        vectors: the `unit_vectors` of all neurons' activations, ordered by the neurons' numbers, `[neurons, n]`.
        first, stop: the block's neurons, from number `first` up to but excluding `stop`.
        least: minimum absolute correlation of a pair.
    """
    parts = []
    for start in range(0, len(vectors), _UNITS):
        correlation = vectors[first:stop] @ vectors[start : start + _UNITS].T
        neuron, other = np.nonzero(np.abs(correlation) >= least)
        r = np.clip(correlation[neuron, other], -1.0, 1.0)
        neuron, other = neuron + first, other + start
        distinct = neuron != other
        parts.append(Pairs(neuron[distinct], other[distinct], r[distinct]))
    pairs = Pairs.joined(parts)
    order = np.argsort(pairs.neuron, kind="stable")
    return Pairs(pairs.neuron[order], pairs.other[order], pairs.correlation[order])


@dataclass(frozen=True)
class Families:
    """The family of each neuron and pole.

    Attributes:
        family: the family's index, counted from 0 in the order in which the leaders are chosen, `[rows]`.
        correlation: correlation between the activations of the neuron and of the family's leader, `[rows]`; 1 for the
            leader.
        is_leader: whether the row is the family's leader, `[rows]`.
    """

    family: Int32s
    correlation: Float64s
    is_leader: Bools


def families(neuron: Int64s, pole: Int64s, f1: Floats, pairs: Pairs) -> Families:
    """Group neurons and poles greedily around the best ones.

    Rows are visited in the order of their F1, descending, then of neuron and pole; rows without an F1 come last. A row
    that is in no family yet leads a new one. Remaining rows whose activations correlate with the leader's join the new
    family: those of the same pole if the correlation is positive, and those of the other pole if it is negative.

    Args:
        neuron: the number of each row's neuron, as `ops.topk.neurons.Neurons.number` returns it, `[rows]`. Each neuron
            and pole occurs at most once.
        pole: the index of each row's pole in `POLES`, `[rows]`.
        f1: the F1 of each row, `[rows]`; may be NaN.
        pairs: all pairs of neurons whose activations correlate.
    """
    rows = len(neuron)
    family, correlation = np.full(rows, -1, np.int32), np.ones(rows)
    is_leader = np.zeros(rows, bool)
    count = 1 + max(int(neuron.max(initial=-1)), int(pairs.neuron.max(initial=-1)), int(pairs.other.max(initial=-1)))
    row_of = np.full((count, len(POLES)), -1)
    row_of[neuron, pole] = np.arange(rows)
    starts = np.searchsorted(pairs.neuron, np.arange(count + 1))
    score = np.where(np.isnan(f1), -np.inf, f1)
    for number, leader in enumerate(_leaders(np.lexsort((pole, neuron, -score)), family)):
        of_leader = slice(starts[neuron[leader]], starts[neuron[leader] + 1])
        r = pairs.correlation[of_leader]
        members = row_of[pairs.other[of_leader], np.where(r > 0, pole[leader], 1 - pole[leader])]
        free = (members >= 0) & (family[members] < 0)
        family[members[free]], correlation[members[free]] = number, r[free]
        family[leader], is_leader[leader] = number, True
    return Families(family, correlation, is_leader)


def _leaders(order: Int64s, family: Int32s) -> Iterator[int]:
    """Yield each row that is in no family when its turn comes."""
    return (row for row in order.tolist() if family[row] < 0)


def with_families(rows: pa.Table, neurons: Neurons, pairs: Pairs) -> tuple[pa.Table, pa.Table]:
    """Return the rows of `explanations` with their families, and the rows of `families`."""
    number, pole = neuron_and_pole(neurons.set_numbers(rows))
    f1 = rows["f1"].to_numpy(zero_copy_only=False).astype(np.float64)
    found = families(number, pole, f1, pairs)
    columns = {name: rows[name] for name in rows.column_names} | {"family": pa.array(found.family)}
    members = {**columns, "correlation": pa.array(found.correlation), "is_leader": pa.array(found.is_leader)}
    return schema.table("explanations", columns), schema.table("families", members)
