import numpy as np
import pytest

from ops.psi.token_types import TYPES, cluster_types, token_type, vocabulary_mark

BERT = {
    "Words": ("may", "January", "l'eau", "a", "é", "naïve", "km²"),
    "Subwords": ("##ing", "##1", "##,", "##人", "###"),
    "Numbers": ("1990", "1990s", "19th", "3", "a1", "٣"),
    "Symbols": (",", "##", "#", "%", "...", "$", "人", "я", "ב", "²", "½"),
    "Special": ("[PAD]", "[unused0]", "[unused993]", None),
    "Tags": ("[CLS]", "[SEP]", "[MASK]", "[UNK]"),
}
GPT2 = {
    "Words": ("Ġmay", "ĠnaÃ¯ve", "Ġa"),
    "Subwords": ("ing", "may", "Ã", "æľ"),
    "Numbers": ("Ġ1990", "1990", "Ġ3rd"),
    "Symbols": (",", "Ġ(", "Ġ", "!!!", "Ċ", "Ġ##", "Ġâī¥"),
    "Special": ("<pad>", "madeupword0001"),
    "Tags": ("<s>", "</s>", "<|endoftext|>"),
}
SPECIAL = ("[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "<s>", "</s>", "<pad>", "<|endoftext|>")


@pytest.mark.parametrize(("mark", "expected"), [("##", BERT), ("Ġ", GPT2)])
def test_a_vocabulary_made_by_hand(mark: str, expected: dict[str, tuple[str | None, ...]]) -> None:
    for kind, tokens in expected.items():
        for token in tokens:
            assert token_type(token, mark, SPECIAL) == kind, token
    assert vocabulary_mark([t for tokens in expected.values() for t in tokens]) == mark


def test_sentence_pieces() -> None:
    tokens = ("▁may", "ing", "▁1990", "▁,", "人")
    assert vocabulary_mark(tokens) == "▁"
    assert [token_type(t, "▁") for t in tokens] == ["Words", "Subwords", "Numbers", "Symbols", "Symbols"]


def test_a_vocabulary_without_marks() -> None:
    assert vocabulary_mark(("may", "1990", None)) == ""
    assert [token_type(t, "") for t in ("may", "1990", ",")] == ["Words", "Numbers", "Symbols"]


def test_a_cluster_has_the_type_of_most_of_its_tokens() -> None:
    types = ["Words", "Numbers", "Numbers", "Tags", "Subwords", "Words"]
    labels = np.array([0, 0, 0, 1, 2, 2], np.int32)
    assert cluster_types(types, labels) == ["Numbers", "Tags", "Words"]
    assert set(types) <= set(TYPES)
