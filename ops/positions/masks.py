"""Query x key masks that give a decoder without position embeddings information on distance: linear, and ALiBi.

Every additive mask is a complete tensor, `[1, 1 or heads, queries, keys]`, and also hides the keys after the query. A
mask that multiplies the weights needs an attention of its own, which replaces that of a transformers model.
"""

import math
from typing import Any

import torch
from torch import nn

from ops.model.attention import attention_weights, use_attention

ATTENTION = "atlas_masked"

LEAST = 0.1  # weight of the oldest visible key in the linear mask; the newest has weight 1


def linear(tokens: int) -> torch.Tensor:
    """Return the linear mask, `[tokens, tokens]` float64.

    It is m(t, i) = 1 - 0.9 (t - i) / max(t, 1) for query t and key i <= t, and 0 for other keys.

    >>> linear(3).tolist()[2]
    [0.09999999999999998, 0.55, 1.0]
    """
    position = torch.arange(tokens, dtype=torch.float64)
    ago = position[:, None] - position
    return torch.where(ago >= 0, 1 - (1 - LEAST) * ago / position.clamp_min(1)[:, None], 0.0)


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
    position = torch.arange(tokens, dtype=torch.float64)
    slopes = torch.tensor(alibi_slopes(heads), dtype=torch.float64)
    return _hiding_later(-slopes[:, None, None] * (position[:, None] - position), dtype)


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


def attend(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    factor: torch.Tensor | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """Return the heads' context: torch's own attention, or sum_i alpha_i factor_i v_i if `factor` is given.

    The weights alpha are the result of the softmax; after the multiplication they are not normalised to sum to 1 again.

    Args:
        query, key, value: `[texts, heads, tokens, head width]`.
        attention_mask: added to the scores, `[texts or 1, heads or 1, tokens, tokens]`.
        scaling: the factor of the scores.
        factor: the mask by which the weights are multiplied, `[queries, keys]`; None for torch's own attention.

    Returns:
        The context, `[texts, tokens, heads, head width]`, and None in place of the weights.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if factor is None:
        context: torch.Tensor = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **others
        )[0]
        return context, None
    weights = attention_weights(query, key, attention_mask, scaling) * factor
    return (weights @ value).transpose(1, 2).contiguous(), None


def use_masked_attention(model: nn.Module) -> None:
    """Make a transformers decoder use `attend`; a `factor` given to its `forward` reaches every layer."""
    from transformers.masking_utils import sdpa_mask

    use_attention(model, ATTENTION, attend, sdpa_mask)
