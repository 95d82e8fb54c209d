"""Build a reducer as in the middle of a long run: full, with thresholds from everything that it has seen."""

import torch

from ops.reducers.top_k import TopK, encode_keys


def filled_top_k(neurons: int, k: int, seen: int, device: torch.device | str = "cpu", seed: int = 0) -> TopK:
    """Return a reducer that holds the `k` highest of `seen` values from the standard normal distribution.

    The highest are drawn as such: `seen` uniform numbers have their k-th highest where a sum of k + 1 exponential
    draws says (Rényi 1953). All neurons hold the same ones.
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
