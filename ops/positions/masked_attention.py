"""Attention whose weights may be multiplied by a mask, in the place of a transformers model's own."""

from typing import Any

import torch
from torch import nn

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
    scores = (query @ key.transpose(2, 3)).mul_(query.shape[-1] ** -0.5 if scaling is None else scaling)
    if attention_mask is not None:
        scores += attention_mask
    return ((scores.softmax(-1) * factor) @ value).transpose(1, 2).contiguous(), None


def use_masked_attention(model: nn.Module) -> None:
    """Make a transformers decoder use `attend`; a `factor` given to its `forward` reaches every layer."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    untyped: Any = model
    untyped.set_attn_implementation(NAME)
