import json
from pathlib import Path

import numpy as np
from transformers import RobertaConfig

from ops.mixing.token_classes import CLASSES, TokenClasses
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer


def named(tokenizer: Tokenizer, text: str, instead: dict[str, int] | None = None) -> list[tuple[str, str]]:
    """Return each token of a text and its class; tokens in `instead` are replaced by other ids first."""
    (tokens,) = tokenizer.encode([text])
    ids = [(instead or {}).get(str(name), i) for name, i in zip(tokenizer.decode(tokens.ids), tokens.ids, strict=True)]
    found = TokenClasses(tokenizer)(np.array(ids), np.array(tokens.added, bool))
    return [(tokenizer.decode([i])[0], CLASSES[c]) for i, c in zip(ids, found, strict=True)]


def test_the_classes_of_bert() -> None:
    tokenizer = Tokenizer(read_facts("sample"))
    special = {"blank": tokenizer.mask_id, "end": tokenizer.sep_id}
    assert named(tokenizer, "Well, 3.5 blank here; end ok.", special) == [
        ("[CLS]", "cls"), ("well", "other"), (",", "punct"), ("3", "other"), (".", "punct"), ("5", "other"),
        ("[MASK]", "mask"), ("here", "other"), (";", "other"), ("[SEP]", "other"), ("ok", "other"), (".", "punct"),
        ("[SEP]", "sep"),
    ]  # fmt: skip


def test_the_classes_of_a_byte_level_tokenizer(tmp_path: Path) -> None:
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "\u0120", "\u0120a", ".", "\u0120.", ",", "\u0120,"]
    (tmp_path / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(vocabulary)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n\u0120 a\n\u0120 .\n\u0120 ,\n")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    from transformers import AutoModel

    AutoModel.from_config(RobertaConfig(vocab_size=12, **sizes)).save_pretrained(tmp_path)
    assert named(Tokenizer(read_facts(str(tmp_path))), "a , a.") == [
        ("<s>", "cls"), ("a", "other"), ("\u0120,", "punct"), ("\u0120a", "other"), (".", "punct"), ("</s>", "sep"),
    ]  # fmt: skip
