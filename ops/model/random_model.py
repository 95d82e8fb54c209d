"""Models with random weights, for uses that do not need trained weights: benchmarks, tests and a warm-up."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ops.model.load import quiet_transformers, read_facts

if TYPE_CHECKING:
    from transformers import PretrainedConfig


def save_random(
    folder: Path, config: "PretrainedConfig", seed: int = 0, change: Callable[[torch.nn.Module], None] | None = None
) -> Path:
    """Save a random model with the packaged model's tokenizer, and return the folder.

    Args:
        folder: the folder in which the model is saved.
        config: the model's configuration.
        seed: the seed of the weights.
        change: a function that changes the model before it is saved; None changes nothing.
    """
    from transformers import AutoModel

    torch.manual_seed(seed)
    model = AutoModel.from_config(config).eval()
    if change is not None:
        with torch.no_grad():
            change(model)
    with quiet_transformers():
        model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        shutil.copy(Path(read_facts("sample").path) / name, folder)
    return folder
