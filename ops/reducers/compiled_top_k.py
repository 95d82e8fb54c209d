"""The compiled key operations of `TopK` for state in CPU memory: one pass over each neuron's slots.

The first `in_order` slots of a neuron contain keys in descending order. The slots from there to `filled` contain newer
keys in any order. The remaining slots contain `EMPTY`.
"""

from typing import NamedTuple

import numpy as np

from ops.arrays import Float32s, Int32s, Int64s
from ops.compiled import compiled

_EMPTY = np.iinfo(np.int64).min  # ops.reducers.top_k.EMPTY
_LOW = (1 << 32) - 1  # the bits of a key that encode its sentence


class Slots(NamedTuple):
    """The state of a reducer, changed in place.

    Attributes:
        keys: the keys, `[neurons, slots]` int64.
        filled: number of slots of each neuron that contain a key, `[neurons]` int64.
        in_order: number of keys of each neuron that are in descending order, `[neurons]` int64.
        bound: the bound of each neuron, `[neurons]` float32; values below it are ignored.
        k: number of keys that remain after a neuron's keys are cut.
        best: scratch space for `k` keys.
        bits, value: two views of the same four bytes, as int32 and as float32.
    """

    keys: Int64s
    filled: Int64s
    in_order: Int64s
    bound: Float32s
    k: int
    best: Int64s
    bits: Int32s
    value: Float32s


def slots(keys: Int64s, filled: Int64s, in_order: Int64s, bound: Float32s, k: int) -> Slots:
    """Return the state that consists of these arrays."""
    bits = np.zeros(1, np.int32)
    return Slots(keys, filled, in_order, bound, k, np.empty(k, np.int64), bits, bits.view(np.float32))


@compiled
def take_in(state: Slots, values: Float32s, bits: Int32s, ids: Int64s) -> None:
    """Append the keys of the values that reach their neuron's bound; a neuron whose slots are full is cut first.

    Args:
        state: the state of the reducer.
        values: activations, `[sentences, neurons]` float32.
        bits: the memory of `values`, viewed as int32.
        ids: the ids of the sentences, `[sentences]` int64.
    """
    for neuron in range(len(state.filled)):
        bound = state.bound[neuron]
        for i in range(len(ids)):
            if values[i, neuron] >= bound:
                if state.filled[neuron] == state.keys.shape[1]:
                    _cut(state, neuron)
                    bound = state.bound[neuron]
                    if values[i, neuron] < bound:
                        continue
                own = np.int64(bits[i, neuron])
                if own == -2147483648:  # -0.0 counts as 0.0
                    own = np.int64(0)
                ordered = own ^ ((own >> 31) & 0x7FFFFFFF)
                state.keys[neuron, state.filled[neuron]] = (ordered << 32) | (_LOW - ids[i])
                state.filled[neuron] += 1


@compiled
def take_in_keys(state: Slots, neurons: Int64s, keys: Int64s) -> None:
    """Append keys `[pairs]` to their neurons `[pairs]`, except keys that `k` better keys are known to beat."""
    for i in range(len(keys)):
        neuron = neurons[i]
        if state.in_order[neuron] == state.k and keys[i] < state.keys[neuron, state.k - 1]:
            continue
        if state.filled[neuron] == state.keys.shape[1]:
            _cut(state, neuron)
        state.keys[neuron, state.filled[neuron]] = keys[i]
        state.filled[neuron] += 1


@compiled
def cut(state: Slots, neurons: Int64s) -> None:
    """Cut each of these neurons to its highest `k` distinct keys, in order, and raise its bound to the k-th value."""
    for i in range(len(neurons)):
        _cut(state, neurons[i])


@compiled
def _cut(state: Slots, neuron: int) -> None:
    keys, best = state.keys[neuron], state.best
    in_order, filled = state.in_order[neuron], state.filled[neuron]
    since = np.sort(keys[in_order:filled])
    one, other, count = 0, len(since) - 1, 0
    while count < state.k and (one < in_order or other >= 0):
        if other < 0 or (one < in_order and keys[one] >= since[other]):
            key = keys[one]
            one += 1
        else:
            key = since[other]
            other -= 1
        if count == 0 or best[count - 1] != key:
            best[count] = key
            count += 1
    keys[:count] = best[:count]
    keys[count:filled] = _EMPTY
    state.filled[neuron] = state.in_order[neuron] = count
    if count == state.k:
        ordered = best[count - 1] >> 32
        state.bits[0] = np.int32(ordered ^ ((ordered >> 31) & 0x7FFFFFFF))
        state.bound[neuron] = max(state.bound[neuron], state.value[0])


@compiled
def select_keys(keys: Int64s, least: Int64s, first: int, stop: int) -> tuple[Int64s, Int64s]:
    """Return the keys of the sentences from `first` to `stop` - 1, neuron by neuron, and each neuron's number of keys.

    Args:
        keys: the keys, `[neurons, slots]`.
        least: the lowest key that counts for each neuron, `[neurons]`, above `EMPTY`.
        first, stop: the range of sentence ids.
    """
    low, high = _LOW - stop, _LOW - first
    counts = np.zeros(len(keys), np.int64)
    for neuron in range(len(keys)):
        for key in keys[neuron]:
            if key >= least[neuron] and low < (key & _LOW) <= high:
                counts[neuron] += 1
    found, at = np.empty(counts.sum(), np.int64), 0
    for neuron in range(len(keys)):
        for key in keys[neuron]:
            if key >= least[neuron] and low < (key & _LOW) <= high:
                found[at] = key
                at += 1
    return found, counts
