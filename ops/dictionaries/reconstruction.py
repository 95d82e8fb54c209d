"""How much of the variance of states a dictionary's reconstruction explains."""

import torch

LEAST = 0.3  # below it, a dictionary hardly belongs to the states that it reads


class Explained:
    """Sums over tokens, float64; empty when created.

    The share is 1 - sum |x - x'|^2 / sum |x - mean x|^2 over tokens, where x' reconstructs x. A dictionary of this
    model, layer, and site has 0.6 to 0.99; one of another is near 0 or below.
    """

    def __init__(self, width: int) -> None:
        self.n = 0
        self.sum = torch.zeros(width, dtype=torch.float64)
        self.squares = self.errors = 0.0

    def add(self, target: torch.Tensor, found: torch.Tensor) -> None:
        """Add some tokens: the target and the reconstruction, each `[tokens, width]`."""
        good = torch.isfinite(target).all(1) & torch.isfinite(found).all(1)
        wide, made = target[good].double(), found[good].double()
        self.n += len(wide)
        self.sum += wide.sum(0).cpu()
        self.squares += float(wide.square().sum())
        self.errors += float((wide - made).square().sum())

    def share(self) -> float | None:
        """Return the share of explained variance; None if all tokens were equal."""
        variance = self.squares - float(self.sum.square().sum()) / max(self.n, 1)
        return 1 - self.errors / variance if variance > 0 else None
