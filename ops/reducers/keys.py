"""An activation and its sentence as one sortable integer, so that a winner's order has no ties left."""

import torch

MAX_IDS = 1 << 32
EMPTY = torch.iinfo(torch.int64).min


def encode(values: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return int64 keys whose descending order is: higher activation first, then lower sentence id.

    Args:
        values: finite activations, float32, any shape; -0.0 counts as 0.0.
        ids: sentence ids in [0, 2**32), int64, a shape that broadcasts to that of `values`.
    """
    bits = (values + 0.0).view(torch.int32)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return (ordered.to(torch.int64) << 32) | (MAX_IDS - 1 - ids)


def decode(keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the activations (float32) and sentence ids (int64) of `keys`."""
    ordered = (keys >> 32).to(torch.int32)
    values = (ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).view(torch.float32)
    return values, MAX_IDS - 1 - (keys & (MAX_IDS - 1))
