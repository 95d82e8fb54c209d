"""Attention that returns its result and the part that each token contributes to itself."""

from typing import Any

import torch
from torch import nn

from ops.model.attention import attention_weights, use_attention

NAME = "atlas_own_share"


def attend(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **others: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the heads' context and its own part, which is returned in place of transformers' attention weights.

    The own part of token j in head h is alpha_jj^h v_j^h (Kobayashi 2021, the term i = j before W_O). The softmax is
    computed once, and no tensor is larger than heads x tokens x tokens.

    Args:
        query, key, value: `[sentences, heads, tokens, head width]`.
        attention_mask: added to the scores, `[sentences, 1, tokens, tokens]`.
        scaling: the factor of the scores; None means 1 / sqrt(head width).

    Returns:
        The context and its own part, each `[sentences, tokens, heads, head width]`.
    """
    alpha = attention_weights(query, key, attention_mask, scaling)
    own = alpha.diagonal(dim1=-2, dim2=-1).unsqueeze(-1) * value
    return (alpha @ value).transpose(1, 2).contiguous(), own.transpose(1, 2)


def use_own_share(model: nn.Module) -> None:
    """Make a transformers model use `attend` as its attention.

    Raises:
        InputError: the model's attention cannot be replaced.
    """
    from transformers.masking_utils import eager_mask

    use_attention(model, NAME, attend, eager_mask)
