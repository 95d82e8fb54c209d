"""Models with random weights, for benchmarks that are about all but what a model has learnt."""

import shutil
from pathlib import Path
from typing import Any

import torch

from ops.model.load import quiet_transformers, read_facts


def save_bert(folder: Path, seed: int = 0, **config: Any) -> Path:
    """Save a BERT (bert-base's configuration but for what `config` names) beside the packaged tokenizer."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    with quiet_transformers():
        BertModel(BertConfig(**config)).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        shutil.copy(Path(read_facts("sample").path) / name, folder)
    return folder
