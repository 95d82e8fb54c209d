"""Checks of a model's weights after they were loaded."""

import torch

from ops.errors import InputError


def not_finite(model: torch.nn.Module) -> str | None:
    """Return the name of a weight tensor that contains a NaN or an infinity; None if all weights are finite."""
    for name, weights in model.named_parameters():
        values = weights.detach()
        # A finite sum proves that every number is finite. A sum of finite numbers may overflow, so if the sum is not
        # finite, each number is checked.
        if not bool(values.sum(dtype=torch.float32).isfinite()) and not bool(values.isfinite().all()):
            return name
    return None


def require_finite(name: str, model: torch.nn.Module) -> None:
    """Refuse a model whose weights contain a NaN or an infinity: everything computed from them would be wrong.

    Args:
        name: the name that the user gave, for the error message.
        model: the model, on any device.

    Raises:
        InputError: one of the weight tensors is not finite.
    """
    tensor = not_finite(model)
    if tensor is not None:
        kind = str(model.get_parameter(tensor).dtype).removeprefix("torch.")
        raise InputError(
            f"--model {name}: its weights are not all finite ({tensor} holds a NaN or an infinity in {kind}); "
            "give a model whose weights are complete"
        )
