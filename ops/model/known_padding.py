"""Attention masks built without reading from the device whether a batch has padding, because the host knows it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import nn

from ops.errors import InputError
from ops.model.attention import use_attention

NAME = "sdpa_known_padding"
_whole: ContextVar[bool] = ContextVar("whole", default=False)


@contextmanager
def batch_without_padding(whole: bool) -> Iterator[None]:
    """Declare for the batches that run inside the `with` whether all their tokens are real, without padding."""
    token = _whole.set(whole)
    try:
        yield
    finally:
        _whole.reset(token)


def use_known_padding(model: nn.Module) -> bool:
    """Make a model build its masks from what `batch_without_padding` declares; return whether that was possible.

    transformers itself reads the mask's values, for which the host waits until the device has finished all queued work.
    The attention itself does not change: it is torch's scaled dot product. Without padding it gets no mask, and so runs
    with the device's fastest kernel. A model with another kind of attention is not changed.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    config: Any = model.config
    if getattr(config, "_attn_implementation", None) != "sdpa":
        return False
    try:
        use_attention(model, NAME, sdpa_attention_forward, _mask)
    except InputError:
        return False
    return True


def _mask(*args: Any, attention_mask: torch.Tensor | None = None, **options: Any) -> torch.Tensor | None:
    from transformers.masking_utils import sdpa_mask

    make: Any = sdpa_mask
    if _whole.get() or attention_mask is None:
        # sdpa_mask still makes a mask if the model needs one for its windows or for the order of tokens.
        return make(*args, attention_mask=None, **options)  # type: ignore[no-any-return]
    never = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    return make(*args, attention_mask=attention_mask, **(options | never))  # type: ignore[no-any-return]
