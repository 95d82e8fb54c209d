"""Tiny random models: encoders and decoders that every job takes, and folders that are damaged in some way."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.corpora import PLACES, SUBJECTS, VERBS

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SIZES: dict[str, Any] = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}


def _words() -> list[str]:
    words = {word.lower() for text in (*SUBJECTS, *VERBS, *PLACES, "the and") for word in text.split()}
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    return [*SPECIAL, *letters, *(f"##{letter}" for letter in letters), *sorted(words - set(letters))]


def _encoder_tokenizer(folder: Path) -> int:
    """Write a tokenizer of pieces of English words, with letters for the rest; return the size of its vocabulary."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = _words()
    made = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.add_special_tokens(list(SPECIAL))
    made.save(str(folder / "tokenizer.json"))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    _write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **names})
    return len(words)


def _decoder_tokenizer(folder: Path) -> int:
    """Write a tokenizer of bytes, as GPT-2's without its merges; return the size of its vocabulary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: i for i, letter in enumerate([*letters, "<|endoftext|>"])}
    made = Tokenizer(models.BPE(vocabulary, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|endoftext|>"])
    made.save(str(folder / "tokenizer.json"))
    names = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
    _write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **names})
    return len(vocabulary)


def _write(path: Path, held: dict[str, Any]) -> None:
    path.write_text(json.dumps(held), encoding="utf-8")


def _save(folder: Path, kind: str, name: str = "AutoModel", decoder: bool = False, **sizes: Any) -> None:
    """Save a random model of a kind, made by a class of transformers, beside a tokenizer."""
    import torch
    import transformers

    from ops.model.load import quiet_transformers

    folder.mkdir(parents=True)
    words = _decoder_tokenizer(folder) if decoder else _encoder_tokenizer(folder)
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, vocab_size=words, **sizes)
    made = getattr(transformers, name)
    model = made.from_config(config) if name.startswith("Auto") else made(config)
    with quiet_transformers():
        model.eval().save_pretrained(folder)


def _gpt2(folder: Path) -> None:
    end = {"bos_token_id": 256, "eos_token_id": 256}
    _save(folder, "gpt2", "GPT2LMHeadModel", True, n_embd=12, n_layer=2, n_head=2, n_inner=20, n_positions=60, **end)


MAKERS: dict[str, Callable[[Path], None]] = {
    "bert": lambda folder: _save(folder, "bert", max_position_embeddings=40, **_SIZES),
    "heads": lambda folder: _save(folder, "bert", "BertForPreTraining", max_position_embeddings=40, **_SIZES),
    "gpt2": _gpt2,
    "roberta": lambda folder: _save(folder, "roberta", max_position_embeddings=42, pad_token_id=0, **_SIZES),
    "distilbert": lambda folder: _save(
        folder, "distilbert", dim=12, n_layers=1, n_heads=2, hidden_dim=20, max_position_embeddings=40
    ),
    "electra": lambda folder: _save(folder, "electra", embedding_size=12, max_position_embeddings=40, **_SIZES),
    "narrow": lambda folder: _save(
        folder, "bert", max_position_embeddings=8, **{**_SIZES, "hidden_size": 8, "num_hidden_layers": 1}
    ),
    "classifier": lambda folder: _save(
        folder, "bert", "BertForSequenceClassification", max_position_embeddings=40, **_SIZES
    ),
}


def _changed_config(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    _write(path, json.loads(path.read_text(encoding="utf-8")) | values)


def _cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-3_000])


def _with_a_value(folder: Path, value: float) -> None:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    name = sorted(name for name in tensors if name.endswith("query.weight"))[0]
    tensors[name][0, 0] = value
    save_file(tensors, path, metadata={"format": "pt"})


def _without(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).unlink()


# Each is done to a copy of the model `bert`.
DAMAGE: dict[str, Callable[[Path], Any]] = {
    "cut": _cut,
    "nan": lambda folder: _with_a_value(folder, float("nan")),
    "huge": lambda folder: _with_a_value(folder, 1e30),
    "fewer layers": lambda folder: _changed_config(folder, num_hidden_layers=1),
    "more layers": lambda folder: _changed_config(folder, num_hidden_layers=1_000_000),
    "wider": lambda folder: _changed_config(folder, hidden_size=24),
    "other vocabulary": lambda folder: _changed_config(folder, vocab_size=9),
    "no positions": lambda folder: _changed_config(folder, max_position_embeddings=2),
    "no kind": lambda folder: _write(folder / "config.json", {"model_type": "nothing"}),
    "no tokenizer": lambda folder: _without(folder, "tokenizer.json", "tokenizer_config.json"),
    "no weights": lambda folder: _without(folder, "model.safetensors"),
    "empty": lambda folder: _without(folder, *(path.name for path in folder.iterdir())),
    "no json": lambda folder: (folder / "config.json").write_bytes(b'{"model_type": "bert", \xff'),
    "no header": lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 100),
    "half a tokenizer": lambda folder: (folder / "tokenizer.json").write_text("{}", encoding="utf-8"),
}


def make_models(folder: Path) -> None:
    """Make every model in a folder of its name."""
    for name, make in MAKERS.items():
        make(folder / name)
    for name, damage in DAMAGE.items():
        shutil.copytree(folder / "bert", folder / name)
        damage(folder / name)
