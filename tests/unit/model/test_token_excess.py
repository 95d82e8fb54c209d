"""A tokenizer that lost its merges is found out by its vocabulary; one that never had any is welcome."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import ByteLevelBPETokenizer
from transformers import ByT5Tokenizer, GPT2Tokenizer

from ops.errors import InputError
from ops.model.batches import TokenBlock
from ops.model.load import ModelFacts, read_facts
from ops.model.names import Location
from ops.model.tokenizer import FAR, Tokenizer, token_excess

SENTENCE = "the old cat sat on a mat and dog ran to red river small boat went away again with big green bird"
WORDS = SENTENCE.split()
TEXTS = [" ".join(WORDS[(3 * i + j * (i % 5 + 1)) % len(WORDS)] for j in range(9)) for i in range(30)]


@pytest.fixture
def excess(tmp_path: Path) -> Callable[[], float]:
    facts: ModelFacts = replace(read_facts("sample"), name="mine", location=Location(str(tmp_path)), vocabulary=0)

    def measure() -> float:
        tokenizer = Tokenizer(facts)
        return token_excess(TokenBlock.of(tokenizer.encode(TEXTS)), tokenizer, facts.name)

    return measure


@pytest.fixture
def merges(tmp_path: Path) -> Path:
    """A byte-level tokenizer that has each word as one token; its file of merges."""
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(TEXTS, vocab_size=400, special_tokens=["<|endoftext|>"], show_progress=False)
    trained.save_model(str(tmp_path))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    return tmp_path / "merges.txt"


def test_a_tokenizer_as_it_was_trained_makes_what_its_vocabulary_allows(
    merges: Path, excess: Callable[[], float]
) -> None:
    assert excess() < 1.1


def test_a_tokenizer_without_its_merges_is_refused(merges: Path, excess: Callable[[], float]) -> None:
    merges.write_text("#version: 0.2\n")
    with pytest.raises(
        InputError, match=r"--model mine: its tokenizer splits every word into characters, .* merges\.txt"
    ):
        excess()


def test_a_tokenizer_that_lost_most_merges_makes_far_too_many_tokens(merges: Path, excess: Callable[[], float]) -> None:
    lines = merges.read_text().splitlines()
    merges.write_text("\n".join(lines[: len(lines) // 4]))
    assert FAR < excess() < 4


@pytest.mark.parametrize("kind", ["bytes", "letters"])
def test_a_vocabulary_of_characters_is_welcome(tmp_path: Path, excess: Callable[[], float], kind: str) -> None:
    if kind == "bytes":
        ByT5Tokenizer().save_pretrained(tmp_path)
    else:
        alphabet = ["<|endoftext|>", "\u0120", *sorted({*"".join(WORDS)})]
        GPT2Tokenizer(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]).save_pretrained(tmp_path)
    assert excess() == 1


def test_words_that_are_no_tokens_are_no_fault(tmp_path: Path) -> None:
    facts = read_facts("sample")
    tokenizer = Tokenizer(facts)
    for texts in (
        ["antidisestablishmentarianism xqzt"],
        ["\u6211\u4eec\u5728\u8fd9\u91cc"],
        ["2011 [SEP] \u2603"],
        [""],
    ):
        assert token_excess(TokenBlock.of(tokenizer.encode(texts)), tokenizer, "sample") < FAR
