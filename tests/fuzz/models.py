"""Tiny random models that the jobs take."""

from pathlib import Path
from typing import Any

from tests.fuzz.sources import NOUNS, PLACES, VERBS

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
    """Return a tokenizer of words and letters, or one of bytes and a few pairs of them."""
    from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import PreTrainedTokenizerFast

    made: Any
    if decoder:
        pieces = ["<|endoftext|>", *sorted(ByteLevel.alphabet()), "th", "at", "the"]
        made = ByteLevelBPETokenizer(dict(zip(pieces, range(999), strict=False)), [("t", "h"), ("a", "t"), ("th", "e")])
        made.add_special_tokens(pieces[:1])
        special = dict.fromkeys(("bos_token", "eos_token", "unk_token"), pieces[0])
    else:
        special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
        letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
        words = {word.lower() for text in (*NOUNS, *VERBS, *PLACES, "the and") for word in text.split()}
        pieces = [*special.values(), *letters, *(f"##{letter}" for letter in letters), *sorted(words - {*letters})]
        made = BertWordPieceTokenizer(dict(zip(pieces, range(999), strict=False)))
    return PreTrainedTokenizerFast(tokenizer_object=made._tokenizer, **special)


def make_models(folder: Path) -> None:
    """Make every model in a folder of its name."""
    import torch
    import transformers

    from ops.model.load import quiet_transformers

    for name, (kind, sizes) in MODELS.items():
        tokenizer, model = _tokenizer(kind.startswith("GPT2")), getattr(transformers, kind)
        torch.manual_seed(0)
        with quiet_transformers():
            made = model(model.config_class(vocab_size=len(tokenizer), **sizes))
            made.eval().save_pretrained(folder / name)
            tokenizer.save_pretrained(folder / name)
