"""Attention of one's own in the place of a transformers model's: its weights, and how a model is made to use it."""

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
        scaling: factor of the scores; None: one over the root of the head's width.
    """
    scores = (query @ key.transpose(2, 3)).mul_(query.shape[-1] ** -0.5 if scaling is None else scaling)
    if attention_mask is not None:
        scores += attention_mask
    return scores.softmax(-1)


def use_attention(model: nn.Module, name: str, attend: Callable[..., Any], mask: Callable[..., Any]) -> None:
    """Make a transformers model use `attend` as the attention of every layer.

    Args:
        model: as transformers loads it.
        name: the attention's, by which transformers is to know it.
        attend: takes what transformers gives an attention, and returns what it expects of one.
        mask: makes the mask that `attend` is given, such as transformers' `eager_mask`.

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
