"""Creates a reducer as in the middle of a long run: full, with the thresholds that many values would leave."""

import torch

from ops.reducers.top_k import TopK, encode_keys


def filled_top_k(neurons: int, k: int, seen: int, device: torch.device | str = "cpu", seed: int = 0) -> TopK:
    """Return a reducer that contains the `k` highest of `seen` values from the standard normal distribution.

    Only the highest values are drawn: sums of exponential draws give the highest of `seen` uniform numbers (Rényi
    1953). All neurons contain the same values.
    """
    generator = torch.Generator().manual_seed(seed)
    steps = torch.empty(k, dtype=torch.float64).exponential_(generator=generator).cumsum(0)
    share = (steps / seen).clamp(max=0.5)
    values = (-torch.special.ndtri(share)).float()
    keys = encode_keys(values, torch.arange(k)).sort(descending=True).values
    reducer = TopK(neurons, k, device)
    reducer.keys[:, :k] = keys.to(device)
    reducer.filled[:] = k
    reducer.bound[:] = values[-1]
    return reducer
