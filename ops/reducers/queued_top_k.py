"""The exact K highest activations of every neuron with the state on a GPU, so that no batch waits for the device."""

import torch

from ops.reducers.top_k import EMPTY, TopK, encode_keys

ROWS = 2_048  # sentences added in one step, which needs extra memory of 17 times the size of their values


class QueuedTopK(TopK):
    """A `TopK` that does not query its device as long as all new sentences fit into the slots known to be free.

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
        self._slots = torch.full((neurons, self.room + 1), EMPTY, dtype=torch.int64, device=device)
        return self._slots[:, : self.room]

    def update(self, values: torch.Tensor, ids: torch.Tensor) -> None:
        """Add some sentences as `TopK` does, but skip NaN.

        Args:
            values: activations `[sentences, neurons]` float32.
            ids: sentence ids `[sentences]` int64, in [0, 2**32).
        """
        step = min(ROWS, max((self.room - self.k) // 2, 1))
        # Cumulative sums along contiguous rows, one for each neuron, take a fraction of the time of sums down columns.
        for block, block_ids in zip(values.T.contiguous().split(step, 1), ids.split(step), strict=True):
            if block.shape[1] > self.free:
                self._trim(self.k + (self.room - self.k) // 2)
            passed = block >= self.bound[:, None]
            place = torch.where(passed, passed.cumsum(1) + (self.filled - 1)[:, None], self.room)
            self._slots.scatter_(1, place, encode_keys(block, block_ids))
            self.filled += passed.sum(1)
            self.free -= block.shape[1]

    def candidates(self) -> torch.Tensor:
        """Return keys that include every neuron's winners, `[neurons, slots]` unordered; `EMPTY` marks a free slot.

        Only neurons whose number of keys exceeds `k` by more than a quarter are sorted and cut. So a neuron is not
        sorted after every shard, but only after it got enough new keys.
        """
        return self.keys[:, : self._trim(self.k + max(self.k // 4, 16))]

    def _append(self, neuron: torch.Tensor, keys: torch.Tensor) -> None:
        super()._append(neuron, keys)
        self.free = 0

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
