"""Which variants are measured, how texts are encoded, and the references of cosines."""

from pathlib import Path
from typing import Any

import pytest

from ops.errors import InputError
from ops.model.load import read_facts
from ops.positions.encode import Encoder
from ops.positions.similarity import EDGES, gaussian_cosines
from ops.positions.variants import DECODER_DEFAULTS, ENCODER_VARIANTS, choose_variants


def test_what_is_measured_where_nothing_is_named() -> None:
    assert choose_variants((), False) == ENCODER_VARIANTS == ("none", "shuffled", "shifted", "constant")
    assert choose_variants((), True) == DECODER_DEFAULTS
    assert DECODER_DEFAULTS[0] == "none"
    assert choose_variants(("constant", "none", "default"), False) == ("none", "constant")


def test_variants_that_cannot_be() -> None:
    for name, message in (
        ("nothing", "there is no such variant"),
        ("none_alibi", "masks are for decoders; name one of default, none, shuffled"),
        ("default", "is what the others are compared with"),
    ):
        with pytest.raises(InputError, match=f"--variants {name}: {message}"):
            choose_variants((name,), False)


def test_gaussian_vectors_are_at_right_angles() -> None:
    cosines = gaussian_cosines(64, 0)
    assert abs(float(cosines.mean())) < 4 / 8 / 100
    assert float(cosines.std()) == pytest.approx(1 / 8, rel=0.03)
    assert len(EDGES) == 199
    assert (EDGES.diff() > 0).all()


def test_texts_are_cut_as_asked() -> None:
    facts = read_facts("sample")
    encoder = Encoder(facts, 6)
    (short, long) = encoder(["Cats sleep.", "A much longer sentence that is cut somewhere."])
    assert (short.cut, long.cut) == (0, 5)
    assert len(long.ids) == 6
    assert (long.ids[0], long.ids[-1]) == (101, 102)
    assert encoder.limit == 6
    with pytest.raises(InputError, match="--start-token: the tokenizer of sample has none"):
        Encoder(facts, start_token=True)


def test_a_start_token_comes_first(tmp_path: Path) -> None:
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast

    trained: Any = ByteLevelBPETokenizer()
    trained.train_from_iterator(["a b c d e f g"] * 3, vocab_size=300, special_tokens=["<|endoftext|>"])
    trained.save(str(tmp_path / "tokenizer.json"))
    GPT2TokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json")).save_pretrained(tmp_path)
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 5, "vocab_size": 300}
    GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)).save_pretrained(tmp_path)
    facts = read_facts(str(tmp_path))
    (plain,) = Encoder(facts)(["a b c d e f g"])
    (begun,) = Encoder(facts, start_token=True)(["a b c d e f g"])
    assert len(plain.ids) == len(begun.ids) == 5
    assert begun.ids == [0, *plain.ids[:4]]
    assert (begun.added[0], begun.cut) == (1, 3)
