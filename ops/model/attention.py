"""Custom attention for a transformers model: the attention weights, and the replacement of the model's attention."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ops.errors import InputError


def attention_weights(
    query: torch.Tensor, key: torch.Tensor, attention_mask: torch.Tensor | None, scaling: float | None
) -> torch.Tensor:
    """Return the softmax of the scores, `[texts, heads, queries, keys]`.

    Args:
        query, key: `[texts, heads, tokens, head width]`.
        attention_mask: added to the scores, `[texts or 1, heads or 1, tokens, tokens]`.
        scaling: the factor of the scores; None means 1 / sqrt(head width).
    """
    scores = (query @ key.transpose(2, 3)).mul_(query.shape[-1] ** -0.5 if scaling is None else scaling)
    if attention_mask is not None:
        scores += attention_mask
    return scores.softmax(-1)


def use_attention(model: nn.Module, name: str, attend: Callable[..., Any], mask: Callable[..., Any]) -> None:
    """Make a transformers model use `attend` as the attention of every layer.

    Args:
        model: a model as transformers loads it.
        name: the name under which the attention is registered with transformers.
        attend: an attention function with the arguments and results that transformers expects.
        mask: the function that builds the mask for `attend`, such as transformers' `eager_mask`.

    Raises:
        InputError: the model's attention cannot be replaced.
    """
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, mask)
    untyped: Any = model
    untyped.set_attn_implementation(name)
    if untyped.config._attn_implementation != name:
        raise InputError(f"--model: the attention of a {untyped.config.model_type} cannot be replaced")
