"""A few tokens on which two ways to compute the same states are compared."""

from typing import Any

import torch

SAME = 1e-2  # of a vector's length: more than rounding in any arithmetic, far less than a part left out


def trial_tokens(model: Any) -> dict[str, torch.Tensor]:
    """Return the inputs of one short sentence of ordinary tokens, `[1, tokens]`, on a model's device.

    Tokens that the configuration names are left out, because they stand for an image, padding or the end.

    Args:
        model: the model that reads the tokens, with a table of token embeddings.
    """
    named = {value for config in _configs(model.config) for value in config.values() if isinstance(value, int)}
    rows = model.get_input_embeddings().weight.shape[0]
    ordinary = [i for i in range(3, rows) if i not in named][:9] or [0]
    ids = torch.tensor([ordinary], device=model.get_input_embeddings().weight.device)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def moved(found: torch.Tensor, right: torch.Tensor) -> float:
    """Return the greatest distance between corresponding vectors, divided by the length of the vector in `right`."""
    found, right = found.double(), right.double()
    return float(((found - right).norm(dim=-1) / right.norm(dim=-1).clamp_min(1e-6)).max())


def _configs(config: Any) -> list[dict[str, Any]]:
    """Return the token ids of a configuration and of the configurations in it, by name."""
    found, todo = [], [config.to_dict()]
    while todo:
        one = todo.pop()
        found.append({key: value for key, value in one.items() if "token" in str(key)})
        todo += [value for value in one.values() if isinstance(value, dict)]
    return found
