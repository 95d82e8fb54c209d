"""Attention masks that are made without asking the device whether a batch has padding: the host knows it."""

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
    """Say of the batches that are run inside the `with` whether every token of theirs is real."""
    token = _whole.set(whole)
    try:
        yield
    finally:
        _whole.reset(token)


def use_known_padding(model: nn.Module) -> bool:
    """Make a model's masks by what `batch_without_padding` says; return whether that could be done.

    transformers' own way looks at the mask's values, for which the host waits until the device has done all that is
    queued. The attention itself stays what it was, torch's scaled dot product: without padding it gets no mask, and so
    the device's fastest kernel. A model with an attention of another kind is left as it is.
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
        # Windows and the order of tokens still make a mask where there must be one.
        return make(*args, attention_mask=None, **options)  # type: ignore[no-any-return]
    never = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    return make(*args, attention_mask=attention_mask, **(options | never))  # type: ignore[no-any-return]
