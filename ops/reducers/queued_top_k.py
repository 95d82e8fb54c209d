"""The exact K highest activations of every neuron with the state on a GPU: no batch waits for the device's results."""

import torch

from ops.reducers.top_k import EMPTY, TopK, encode_keys

ROWS = 2_048  # sentences added together; this needs 17 times the size of their values in extra memory


class QueuedTopK(TopK):
    """A `TopK` that does not query its device as long as its known free slots hold all new sentences.

    The device computes where each key goes: those that pass the bound after their neuron's other keys, and all others
    into one extra slot that is never read. The host only counts sentences. Until it has added as many as the fullest
    neuron had free slots, none can overflow. Only then does it query the device, and makes room.

    Winners are those of `TopK`, for any room. `ids` must be valid and on the device; whoever has them on the host
    checks them there.
    """

    def __init__(self, neurons: int, k: int, device: torch.device | str = "cpu", room: int | None = None) -> None:
        super().__init__(neurons, k, device, room)
        self.free = self.room  # free slots of the fullest neuron, a lower bound

    def _empty_keys(self, neurons: int, device: torch.device | str) -> torch.Tensor:
        self._slots = torch.full((neurons, self.room + 1), EMPTY, dtype=torch.int64, device=device)
        return self._slots[:, : self.room]

    def update(self, values: torch.Tensor, ids: torch.Tensor) -> None:
        """Add some sentences, as `TopK` does; NaN is skipped.

        Args:
            values: activations `[sentences, neurons]` float32.
            ids: sentence ids `[sentences]` int64, in [0, 2**32).
        """
        step = min(ROWS, max((self.room - self.k) // 2, 1))
        # Sums along a neuron's own row take a fraction of the time of sums down thousands of columns.
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

        Only neurons that hold a quarter more than `k` are sorted and cut, so that a neuron is not sorted for each shard
        but only after enough new sentences.
        """
        return self.keys[:, : self._trim(self.k + max(self.k // 4, 16))]

    def _append(self, neuron: torch.Tensor, keys: torch.Tensor) -> None:
        super()._append(neuron, keys)
        self.free = 0

    def _trim(self, most: int) -> int:
        """Leave every neuron at most `most` keys, and return how many the fullest holds: the only place that waits."""
        full = (self.filled > most).nonzero()[:, 0]
        if len(full):
            self._compact(full, int(self.filled.max()))
        fullest = int(self.filled.max()) if len(self.filled) else 0
        self.free = self.room - fullest
        return fullest
