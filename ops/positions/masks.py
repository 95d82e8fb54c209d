"""Query x key masks that tell a decoder without position embeddings what is near: the linear one, and ALiBi's.

Every mask is written out, `[1, 1 or heads, queries, keys]`; what is added hides the keys that come later too.
"""

import math

import torch

LEAST = 0.1  # what the oldest visible key counts in the linear mask; the newest counts 1


def linear(tokens: int) -> torch.Tensor:
    """Return m(t, i) = 1 - 0.9 (t - i) / max(t, 1) for key i <= query t, else 0; `[tokens, tokens]` float64.

    >>> linear(3).tolist()[2]
    [0.09999999999999998, 0.55, 1.0]
    """
    place = torch.arange(tokens, dtype=torch.float64)
    ago = place[:, None] - place
    return torch.where(ago >= 0, 1 - (1 - LEAST) * ago / place.clamp_min(1)[:, None], 0.0)


def causal(tokens: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """Return what is added to the scores so that no key after the query is seen."""
    return _hiding_later(torch.zeros(tokens, tokens, dtype=torch.float64), dtype)


def self_only(tokens: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """Return what is added so that each token sees itself alone."""
    hidden = torch.full((tokens, tokens), torch.finfo(dtype).min, dtype=torch.float64)
    return hidden.fill_diagonal_(0.0).to(dtype)[None, None]


def additive_linear(tokens: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the linear mask as older versions of transformers read it: (1 - m) times the most negative number.

    Every m below 1 so hides its key: each token sees itself alone (Hirata 2024 may have measured this).
    """
    return _hiding_later((1 - linear(tokens)) * torch.finfo(dtype).min, dtype)


def log_linear(tokens: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """Return log m: added to the scores, it multiplies the attention weights by m and makes them sum to 1 again."""
    return _hiding_later(linear(tokens).clamp_min(1e-9).log(), dtype)


def alibi(tokens: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """Return a penalty of a slope of each head times the distance (Press, Smith and Lewis 2022)."""
    place = torch.arange(tokens, dtype=torch.float64)
    slopes = torch.tensor(alibi_slopes(heads), dtype=torch.float64)
    return _hiding_later(-slopes[:, None, None] * (place[:, None] - place), dtype)


def alibi_slopes(heads: int) -> list[float]:
    """Return each head's slope: a geometric sequence from 2^(-8/n) for n heads, n a power of 2.

    For other numbers those of the next lower power come first, then every second one of twice as many.

    >>> alibi_slopes(4)
    [0.25, 0.0625, 0.015625, 0.00390625]
    """
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    finer = [2 ** (-8 * (i + 1) / (2 * power)) for i in range(0, 2 * power, 2)]
    return slopes + finer[: heads - power]


def _hiding_later(added: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    tokens = added.shape[-1]
    later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    least = torch.finfo(dtype).min
    return added.masked_fill(later, least).to(dtype).view(1, -1, tokens, tokens)
