"""Tiny random models that the jobs take."""

from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.sources import ordinary

_BERT = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20,
         "max_position_embeddings": 42, "pad_token_id": 0}  # fmt: skip
_GPT2 = {"n_embd": 12, "n_layer": 2, "n_head": 2, "n_inner": 20, "n_positions": 60, "bos_token_id": 0,
         "eos_token_id": 0}  # fmt: skip
MODELS: dict[str, tuple[str, dict[str, int]]] = {  # the class and the sizes of each
    "bert": ("BertModel", _BERT),
    "heads": ("BertForPreTraining", _BERT),
    "gpt2": ("GPT2LMHeadModel", _GPT2),
    "electra": ("ElectraModel", {**_BERT, "embedding_size": 12}),
    "narrow": ("BertModel", {**_BERT, "num_hidden_layers": 1, "max_position_embeddings": 8}),
}


def _tokenizer(decoder: bool) -> Any:
    """Return a tokenizer of bytes or of pieces of words, trained on ordinary sentences."""
    from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    texts = [row["text"] for row in ordinary(Random(0), 200)]
    made: Any = ByteLevelBPETokenizer() if decoder else BertWordPieceTokenizer()
    special = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
    if not decoder:
        special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    made.train_from_iterator(texts, 300, show_progress=False, special_tokens=list(dict.fromkeys(special.values())))
    made = made if decoder else BertWordPieceTokenizer(made.get_vocab())  # which adds [CLS] and [SEP]
    return PreTrainedTokenizerFast(tokenizer_object=made._tokenizer, **special)


def make_models(folder: Path) -> None:
    """Make every model in a folder of its name."""
    import torch
    import transformers

    from ops.model.transformers_calls import quiet_transformers

    for name, (kind, sizes) in MODELS.items():
        tokenizer, model = _tokenizer(kind.startswith("GPT2")), getattr(transformers, kind)
        torch.manual_seed(0)
        with quiet_transformers():
            made = model(model.config_class(vocab_size=len(tokenizer), **sizes))
            made.eval().save_pretrained(folder / name)
            tokenizer.save_pretrained(folder / name)
