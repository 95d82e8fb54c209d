"""The exact K highest activations of every neuron, over a stream of sentences.

An activation and its sentence are encoded as one sortable integer, the key, so that the order of winners has no ties.
"""

from typing import NamedTuple

import numpy as np
import torch

from ops.arrays import Float32s, Int32s, Int64s
from ops.compiled import compiled

MAX_IDS = 1 << 32
EMPTY = np.iinfo(np.int64).min  # the key of a slot without a pair: below every key
_CELLS = 1 << 26  # keys that are sorted together: about 2 GB including the extra memory for sorting
_ROWS = 2_048  # sentences that are queued in one step, which needs extra memory of 17 times the size of their values


class Slots(NamedTuple):
    """The state of a `TopK` in CPU memory, which compiled code changes in place.

    Attributes:
        keys: the keys, `[neurons, slots]` int64. A neuron's first `in_order` slots contain keys in descending order.
            The slots from there to `filled` contain newer keys in any order. The remaining slots contain `EMPTY`.
        filled, in_order: those numbers of slots of each neuron, `[neurons]` int64.
        bound: the bound of each neuron, `[neurons]` float32; values below it are ignored.
        k: number of keys that remain after a neuron's keys are cut.
    """

    keys: Int64s
    filled: Int64s
    in_order: Int64s
    bound: Float32s
    k: int


class TopK:
    """A reducer that keeps the first `k` (activation, sentence) pairs of each neuron among all pairs so far, on a CPU.

    Pairs are ordered by activation descending, then by sentence id ascending; for the lowest activations, negate the
    values. A pair that is added twice counts once. So `merge` is associative, commutative and idempotent, and a new
    reducer is empty, which is the neutral element. The result is the same for any split of the sentences, in any order,
    with any part repeated.

    Almost every value is rejected by one comparison with the neuron's `bound`, its k-th best value so far. Other values
    are appended to a buffer that is sorted and cut only when it is full. The state of each neuron is `room` slots of
    one int64.
    """

    def __init__(self, neurons: int, k: int, device: torch.device | str = "cpu", room: int | None = None) -> None:
        self.k = k
        self.room = max(room or 0, least_room(k))
        self.keys = self._empty_keys(neurons, device)
        self.filled = torch.zeros(neurons, dtype=torch.int64, device=device)
        self.sorted = self.filled.clone()  # number of keys when they were last sorted and cut
        self.bound = torch.full((neurons,), -torch.inf, dtype=torch.float32, device=device)

    def _empty_keys(self, neurons: int, device: torch.device | str) -> torch.Tensor:
        return torch.full((neurons, self.room), EMPTY, dtype=torch.int64, device=device)

    @property
    def _slots(self) -> Slots:
        return Slots(self.keys.numpy(), self.filled.numpy(), self.sorted.numpy(), self.bound.numpy(), self.k)

    def update(self, values: torch.Tensor, ids: torch.Tensor) -> None:
        """Add some sentences.

        Args:
            values: finite activations `[sentences, neurons]` float32.
            ids: sentence ids `[sentences]` int64, in [0, 2**32).

        Raises:
            ValueError: the shapes do not match, or an id is out of range.
        """
        if values.shape != (len(ids), len(self.filled)):
            raise ValueError(f"values are {tuple(values.shape)}, expected {(len(ids), len(self.filled))}")
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < MAX_IDS:
            raise ValueError(f"sentence ids are outside [0, 2**32): {int(ids.min())} to {int(ids.max())}")
        matrix = values.contiguous()
        _take_in(self._slots, matrix.numpy(), matrix.view(torch.int32).numpy(), ids.contiguous().numpy())

    def raise_bound(self, bound: torch.Tensor) -> None:
        """Ignore values below a bound from now on; at least `k` distinct sentences of the corpus must reach it.

        Fewer than `k` pairs may then remain, but the ignored values could not win anyway.

        Args:
            bound: the bound of each neuron, `[neurons]` float32; a value equal to the bound is kept.
        """
        self.bound = torch.maximum(self.bound, bound.to(self.bound))

    def merge_keys(self, neuron: torch.Tensor, keys: torch.Tensor) -> None:
        """Add keys that other reducers kept: `keys` int64 `[pairs]`, `neuron` int64 `[pairs]` ascending."""
        _take_in_keys(self._slots, neuron.contiguous().numpy(), keys.contiguous().numpy())

    def merge(self, other: "TopK") -> None:
        """Add everything that another reducer kept; its `k` and its neurons must be the same."""
        neuron, slot = (other.keys != EMPTY).nonzero(as_tuple=True)
        self.merge_keys(neuron, other.keys[neuron, slot])

    def result(self) -> torch.Tensor:
        """Return the winners' keys `[neurons, k]` int64 in order; slots after the last winner contain `EMPTY`."""
        # Neurons without new keys since they were last sorted and cut need no work.
        self._compact((self.filled != self.sorted).nonzero()[:, 0])
        return self.keys[:, : self.k]

    def candidates(self) -> torch.Tensor:
        """Return keys that include every neuron's winners, `[neurons, slots]` int64; `EMPTY` marks a free slot."""
        return self.result()

    def _compact(self, neurons: torch.Tensor) -> None:
        """Sort and cut the keys of these neurons."""
        _cut_all(self._slots, neurons.numpy())


class QueuedTopK(TopK):
    """A `TopK` on any device that it does not query as long as all new sentences fit into the slots known to be free.

    The device computes where each key is stored. Keys that pass the bound are stored after their neuron's other keys,
    and all other keys go into one extra slot that is never read. The host only counts sentences. No neuron can
    overflow until the host has added more sentences than the fullest neuron had free slots. Only then does the host
    query the device and free some slots.

    Winners are the same as those of `TopK`, for any number of slots. `ids` must be valid and on the device; the caller
    checks them on the host.
    """

    def __init__(self, neurons: int, k: int, device: torch.device | str = "cpu", room: int | None = None) -> None:
        super().__init__(neurons, k, device, room)
        self.free = self.room  # a lower bound of the fullest neuron's number of free slots

    def _empty_keys(self, neurons: int, device: torch.device | str) -> torch.Tensor:
        self._stored = torch.full((neurons, self.room + 1), EMPTY, dtype=torch.int64, device=device)
        return self._stored[:, : self.room]

    def update(self, values: torch.Tensor, ids: torch.Tensor) -> None:
        """Add some sentences as `TopK` does, but skip NaN.

        Args:
            values: activations `[sentences, neurons]` float32.
            ids: sentence ids `[sentences]` int64, in [0, 2**32).
        """
        step = min(_ROWS, max((self.room - self.k) // 2, 1))
        # Cumulative sums along contiguous rows, one for each neuron, take a fraction of the time of sums down columns.
        for block, block_ids in zip(values.T.contiguous().split(step, 1), ids.split(step), strict=True):
            if block.shape[1] > self.free:
                self._trim(self.k + (self.room - self.k) // 2)
            passed = block >= self.bound[:, None]
            slot = torch.where(passed, passed.cumsum(1) + (self.filled - 1)[:, None], self.room)
            self._stored.scatter_(1, slot, encode_keys(block, block_ids))
            self.filled += passed.sum(1)
            self.free -= block.shape[1]

    def candidates(self) -> torch.Tensor:
        """Return keys that include every neuron's winners, `[neurons, slots]` unordered; `EMPTY` marks a free slot.

        Only neurons whose number of keys exceeds `k` by more than a quarter are sorted and cut. So a neuron is not
        sorted after every shard, but only after it got enough new keys.
        """
        return self.keys[:, : self._trim(self.k + max(self.k // 4, 16))]

    def _trim(self, most: int) -> int:
        """Cut every neuron with more than `most` keys to `k`, and return the number of keys of the fullest neuron.

        Only this method waits for the device.
        """
        full = (self.filled > most).nonzero()[:, 0]
        if len(full):
            self._compact(full, int(self.filled.max()))
        fullest = int(self.filled.max()) if len(self.filled) else 0
        self.free = self.room - fullest
        return fullest

    def _compact(self, neurons: torch.Tensor, most: int | None = None) -> None:
        """Sort and cut the keys of these neurons, each of which has at most `most` keys (None: any number)."""
        most = max(self.room if most is None else most, self.k)
        for rows in torch.split(neurons, min(max(_CELLS // most, 1), 1024)):
            keys = self.keys[rows, :most].sort(dim=1, descending=True).values
            again = torch.zeros_like(keys, dtype=torch.bool)
            again[:, 1:] = (keys[:, 1:] == keys[:, :-1]) & (keys[:, 1:] != EMPTY)
            if bool(again.any()):
                keys = keys.masked_fill(again, EMPTY).sort(dim=1, descending=True).values
            keys[:, self.k :] = EMPTY
            self.keys[rows, :most] = keys
            self.filled[rows] = self.sorted[rows] = (keys != EMPTY).sum(1)
            last = keys[:, self.k - 1]
            bound = torch.where(last == EMPTY, self.bound[rows], decode_keys(last)[0])
            self.bound[rows] = torch.maximum(bound, self.bound[rows])


def least_room(k: int) -> int:
    """Return the minimum number of slots for a neuron's `k` winners while more sentences are added."""
    return k + max(k // 2, 64)


def encode_keys(values: torch.Tensor, ids: torch.Tensor | int) -> torch.Tensor:
    """Return int64 keys whose descending order is: higher activation first, then lower sentence id.

    Args:
        values: finite activations, float32, any shape; -0.0 counts as 0.0.
        ids: sentence ids in [0, 2**32), int64, with a shape that broadcasts to that of `values`; or one id for all.
    """
    bits = (values + 0.0).view(torch.int32)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return (ordered.to(torch.int64) << 32) | (MAX_IDS - 1 - ids)


def decode_keys(keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the activations (float32) and sentence ids (int64) of `keys`."""
    ordered = (keys >> 32).to(torch.int32)
    values = (ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).view(torch.float32)
    return values, MAX_IDS - 1 - (keys & (MAX_IDS - 1))


def keys_of_span(keys: torch.Tensor, lowest: torch.Tensor, first: int, stop: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the keys of the sentences from `first` to `stop` - 1, and the number of these keys of each neuron.

    Args:
        keys: the keys, `[neurons, slots]` int64.
        lowest: the lowest key that counts for each neuron, `[neurons]`, above `EMPTY`.
        first, stop: the range of sentence ids.
    """
    place = keys & (MAX_IDS - 1)  # descends as ids ascend
    here = (place > MAX_IDS - 1 - stop) & (place <= MAX_IDS - 1 - first) & (keys >= lowest[:, None])
    return keys[here], here.sum(1)


@compiled
def _take_in(state: Slots, values: Float32s, bits: Int32s, ids: Int64s) -> None:
    """Append the keys of the values that reach their neuron's bound; a neuron whose slots are full is cut first.

    `values [sentences, neurons]` are activations, and `bits` the same memory as int32.
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
                code = np.int64(bits[i, neuron])
                if code == -2147483648:  # -0.0 counts as 0.0
                    code = np.int64(0)
                ordered = code ^ ((code >> 31) & 0x7FFFFFFF)
                state.keys[neuron, state.filled[neuron]] = (ordered << 32) | (MAX_IDS - 1 - ids[i])
                state.filled[neuron] += 1


@compiled
def _take_in_keys(state: Slots, neurons: Int64s, keys: Int64s) -> None:
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
def _cut_all(state: Slots, neurons: Int64s) -> None:
    for neuron in neurons:
        _cut(state, neuron)


@compiled
def _cut(state: Slots, neuron: int) -> None:
    """Cut a neuron to its highest `k` distinct keys, in order, and raise its bound to the k-th value."""
    keys, best = state.keys[neuron], np.empty(state.k, np.int64)
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
    keys[count:filled] = EMPTY
    state.filled[neuron] = state.in_order[neuron] = count
    if count == state.k:
        ordered = best[count - 1] >> 32
        value = np.int32(ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).view(np.float32)
        state.bound[neuron] = max(state.bound[neuron], value)
