"""The exact K highest activations of every neuron where the state lies on a GPU: no batch waits for what it finds."""

import torch

from ops.reducers.top_k import EMPTY, TopK, encode_keys

ROWS = 2_048  # sentences that are taken in together: what they need for it beside their values is 17 times their size


class QueuedTopK(TopK):
    """A `TopK` that asks its device nothing as long as the room that it knows of holds all sentences that come.

    Where each key goes is computed on the device: those that pass the bound behind what their neuron holds, all others
    into one slot past the room that nothing reads. The host counts sentences instead: until as many came as there were
    free slots for the fullest neuron, none can overflow. Only then does it look, and makes room.

    Winners are those of `TopK`, whatever the room. `ids` must be valid and on the device: who has them on the host
    checks them there.
    """

    def __init__(self, neurons: int, k: int, device: torch.device | str = "cpu", room: int | None = None) -> None:
        super().__init__(neurons, k, device, room)
        self.free = self.room  # slots of the fullest neuron, at least

    def _empty_keys(self, neurons: int, device: torch.device | str) -> torch.Tensor:
        self._slots = torch.full((neurons, self.room + 1), EMPTY, dtype=torch.int64, device=device)
        return self._slots[:, : self.room]

    def update(self, values: torch.Tensor, ids: torch.Tensor) -> None:
        """Take in some sentences, as `TopK` does; a value that is no number is left out.

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
        """Return keys among which every neuron's winners are, `[neurons, slots]` in no order; `EMPTY` is none.

        Only neurons that hold a quarter more than `k` are sorted and cut, so that a neuron is sorted once for so many
        sentences that it took in, and not once a shard.
        """
        return self.keys[:, : self._trim(self.k + max(self.k // 4, 16))]

    def _append(self, neuron: torch.Tensor, keys: torch.Tensor) -> None:
        super()._append(neuron, keys)
        self.free = 0

    def _trim(self, most: int) -> int:
        """Leave no neuron more than `most` keys, and return how many the fullest holds: the one place that waits."""
        full = (self.filled > most).nonzero()[:, 0]
        if len(full):
            self._compact(full, int(self.filled.max()))
        fullest = int(self.filled.max()) if len(self.filled) else 0
        self.free = self.room - fullest
        return fullest
