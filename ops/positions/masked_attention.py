"""Attention whose weights may be multiplied by a mask, in the place of a transformers model's own."""

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
    """Return the heads' context: torch's own attention, or where `factor` is given sum_i alpha_i factor_i v_i.

    The weights alpha are those of the softmax and are not made to sum to 1 again.

    Args:
        query, key, value: `[texts, heads, tokens, head width]`.
        attention_mask: added to the scores, `[texts or 1, heads or 1, tokens, tokens]`.
        scaling: factor of the scores.
        factor: `[tokens, tokens]`, queries by keys.

    Returns:
        `[texts, tokens, heads, head width]`.
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
