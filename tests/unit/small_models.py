"""Small random models of every architecture whose projections are known, and what is known of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import nn
from transformers import (
    AutoModel,
    BertConfig,
    DistilBertConfig,
    GPT2Config,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

from ops.model.load import ModelFacts
from ops.model.names import Location

LAYERS, HEADS, WIDTH, VOCABULARY = 3, 4, 24, 50
_SMALL: dict[str, Any] = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "vocab_size": VOCABULARY,
    "intermediate_size": 30,
    "max_position_embeddings": 20,
}
CONFIGS: dict[str, Callable[[], PreTrainedConfig]] = {
    "bert": lambda: BertConfig(**_SMALL),
    "roberta": lambda: RobertaConfig(**_SMALL),
    "distilbert": lambda: DistilBertConfig(
        vocab_size=VOCABULARY, dim=WIDTH, n_layers=LAYERS, n_heads=HEADS, hidden_dim=30, max_position_embeddings=20
    ),
    "gpt2": lambda: GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        n_positions=20,
        bos_token_id=0,
        eos_token_id=0,
    ),
}


def make(kind: str) -> tuple[nn.Module, ModelFacts]:
    """A model whose every weight, biases and norms too, is drawn at random."""
    torch.manual_seed(0)
    model: nn.Module = AutoModel.from_config(CONFIGS[kind]()).eval()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.3)
    return model, facts(kind)


def save_tokenizer(folder: Path, words: int) -> None:
    """Save a tokenizer of made-up words next to a model."""
    own = Tokenizer(WordLevel({"[UNK]": 0} | {f"w{i}": i for i in range(1, words)}, unk_token="[UNK]"))
    own.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=own, unk_token="[UNK]").save_pretrained(folder)


def facts(kind: str, **changes: Any) -> ModelFacts:
    known: dict[str, Any] = {
        "name": "m",
        "location": Location(""),
        "position_limit": 20,
        "fingerprint": "",
        "vocabulary": 0,
    }
    known |= {"model_type": kind, "layers": LAYERS, "width": WIDTH, "decoder": kind == "gpt2"} | changes
    decoder = known.pop("decoder")
    made = ModelFacts(**known)
    made.tried["decoder"] = decoder  # there is no folder to try it on
    return made
