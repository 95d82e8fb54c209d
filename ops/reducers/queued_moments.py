"""Moments of every neuron whose sums stay on a GPU, so that no batch waits for them."""

import torch

from ops.reducers.moments import Moments


class QueuedMoments:
    """The moments of the sentences seen so far, float64, computed in the device's queue.

    A new object is empty; `update` adds a block, and `result` returns the moments. Rounding depends on the blocks and
    their order, so the same bits require the same blocks. The formulas are those of `ops.reducers.moments` (Pébay
    2008). There is no `merge`, because the results can be merged.
    """

    def __init__(self, neurons: int, device: torch.device | str = "cpu") -> None:
        self.n = torch.zeros((), dtype=torch.float64, device=device)
        self.mean, self.m2, self.m3, self.m4 = torch.zeros(4, neurons, dtype=torch.float64, device=device)
        self.min = torch.full((neurons,), torch.inf, dtype=torch.float32, device=device)
        self.max = -self.min

    def update(self, values: torch.Tensor, counted: torch.Tensor) -> None:
        """Add activations `[sentences, neurons]` float32 of the sentences that `counted` marks, `[sentences]` bool."""
        here = counted[:, None]
        wide = values.masked_fill(~here, 0.0).double()
        a, b = self.n, counted.sum(dtype=torch.float64)
        n = (a + b).clamp_min(1.0)
        mean = wide.sum(0) / b.clamp_min(1.0)
        centred = (wide - mean).masked_fill_(~here, 0.0)
        square = centred * centred
        m2, m3, m4 = square.sum(0), (square * centred).sum(0), (square * square).sum(0)
        d = mean - self.mean
        self.m4 = (
            self.m4
            + m4
            + d**4 * a * b * (a * a - a * b + b * b) / n**3
            + 6 * d**2 * (a * a * m2 + b * b * self.m2) / n**2
            + 4 * d * (a * m3 - b * self.m3) / n
        )
        self.m3 = self.m3 + m3 + d**3 * a * b * (a - b) / n**2 + 3 * d * (a * m2 - b * self.m2) / n
        self.m2 = self.m2 + m2 + d**2 * a * b / n
        self.mean = self.mean + d * b / n
        self.min = torch.minimum(self.min, values.masked_fill(~here, torch.inf).amin(0))
        self.max = torch.maximum(self.max, values.masked_fill(~here, -torch.inf).amax(0))
        self.n = a + b

    def result(self) -> Moments:
        """Return the moments; this waits for the device."""
        mean, m2, m3, m4 = (s.cpu().numpy() for s in (self.mean, self.m2, self.m3, self.m4))
        return Moments(int(self.n), mean, m2, m3, m4, self.min.cpu().numpy(), self.max.cpu().numpy())
