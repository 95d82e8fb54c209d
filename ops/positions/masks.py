"""Query x key masks that give a decoder without position embeddings information on distance: linear, and ALiBi.

Every additive mask is a complete tensor, `[1, 1 or heads, queries, keys]`, and also hides the keys after the query.
"""

import math

import torch

LEAST = 0.1  # weight of the oldest visible key in the linear mask; the newest has weight 1


def linear(tokens: int) -> torch.Tensor:
    """Return the linear mask, `[tokens, tokens]` float64.

    It is m(t, i) = 1 - 0.9 (t - i) / max(t, 1) for query t and key i <= t, and 0 for other keys.

    >>> linear(3).tolist()[2]
    [0.09999999999999998, 0.55, 1.0]
    """
    place = torch.arange(tokens, dtype=torch.float64)
    ago = place[:, None] - place
    return torch.where(ago >= 0, 1 - (1 - LEAST) * ago / place.clamp_min(1)[:, None], 0.0)


def causal(tokens: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the additive mask that hides the keys after the query."""
    return _hiding_later(torch.zeros(tokens, tokens, dtype=torch.float64), dtype)


def self_only(tokens: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the additive mask with which each token attends only to itself."""
    hidden = torch.full((tokens, tokens), torch.finfo(dtype).min, dtype=torch.float64)
    return hidden.fill_diagonal_(0.0).to(dtype)[None, None]


def additive_linear(tokens: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the linear mask as older versions of transformers interpret it: (1 - m) times the most negative number.

    In this way every m below 1 hides its key, and each token attends only to itself. Hirata 2024 may have measured
    this.
    """
    return _hiding_later((1 - linear(tokens)) * torch.finfo(dtype).min, dtype)


def log_linear(tokens: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """Return log m, which multiplies the attention weights by m when it is added to the scores.

    The softmax then normalises the weights to sum to 1 again.
    """
    return _hiding_later(linear(tokens).clamp_min(1e-9).log(), dtype)


def alibi(tokens: int, heads: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the ALiBi penalty: minus each head's slope times the distance (Press, Smith and Lewis 2022)."""
    place = torch.arange(tokens, dtype=torch.float64)
    slopes = torch.tensor(alibi_slopes(heads), dtype=torch.float64)
    return _hiding_later(-slopes[:, None, None] * (place[:, None] - place), dtype)


def alibi_slopes(heads: int) -> list[float]:
    """Return each head's slope: a geometric sequence that starts at 2^(-8/n) for n heads, if n is a power of 2.

    For other numbers of heads, the slopes for the next lower power of 2 come first. Then follows every second slope for
    twice this power.

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
