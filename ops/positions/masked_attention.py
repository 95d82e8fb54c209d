"""Attention whose weights may be multiplied by a mask; it replaces the attention of a transformers model."""

from typing import Any

import torch
from torch import nn

from ops.model.attention import attention_weights, use_attention

NAME = "atlas_masked"


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

    use_attention(model, NAME, attend, sdpa_mask)
