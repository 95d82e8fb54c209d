"""Custom attention for a transformers model, and its own attention with masks that the host knows.

transformers itself reads from the device whether a batch has padding.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import torch
from torch import nn

from ops.errors import InputError

NAME = "sdpa_known_padding"
_whole: ContextVar[bool] = ContextVar("whole", default=False)


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


@contextmanager
def batch_without_padding(whole: bool) -> Iterator[None]:
    """Declare for the batches that run inside the `with` whether all their tokens are real, without padding."""
    token = _whole.set(whole)
    try:
        yield
    finally:
        _whole.reset(token)


def use_known_padding(model: nn.Module) -> None:
    """Make a model build its masks from what `batch_without_padding` declares, if that is possible.

    transformers itself reads the mask's values, for which the host waits until the device has finished all queued work.
    The attention itself does not change: it is torch's scaled dot product. Without padding it gets no mask, and so runs
    with the device's fastest kernel. A model with another kind of attention is not changed.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if getattr(model.config, "_attn_implementation", None) == "sdpa":
        with suppress(InputError):
            use_attention(model, NAME, sdpa_attention_forward, _mask)


def _mask(*args: Any, attention_mask: torch.Tensor | None = None, **options: Any) -> torch.Tensor | None:
    from transformers.masking_utils import sdpa_mask

    make: Any = sdpa_mask
    if _whole.get() or attention_mask is None:
        # sdpa_mask still makes a mask if the model needs one for its windows or for the order of tokens.
        return make(*args, attention_mask=None, **options)  # type: ignore[no-any-return]
    never = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    return make(*args, attention_mask=attention_mask, **(options | never))  # type: ignore[no-any-return]
