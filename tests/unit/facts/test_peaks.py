"""The word at which a winner peaks."""

from typing import Any

import pytest

from ops.facts.examples import peak_word

SENTENCE = {"text": "Zoë's 😀 cat", "words": ["Zoë", "'s", "😀", "cat"], "tags": ["NNP", "POS", "NFP", "NN"]}
TOKENS: dict[str, Any] = {
    "pole": "top",
    "starts": [None, 0, 3, 4, 6, 8, None],
    "ends": [None, 3, 4, 5, 7, 11, None],
    "activations": [9.0, 0.25, 0.5, 1.0, -2.0, 0.75, 9.0],
}


@pytest.mark.parametrize(
    ("pole", "word", "tag", "span", "activation"),
    [("top", "'s", "POS", (3, 5), 1.0), ("bottom", "😀", "NFP", (6, 7), -2.0)],
)
def test_it_is_the_word_of_the_highest_or_lowest_token(
    pole: str, word: str, tag: str, span: tuple[int, int], activation: float
) -> None:
    found = peak_word({**TOKENS, "pole": pole}, SENTENCE)
    assert found is not None
    assert (found["word"], found["tag"], found["span"], found["activation"]) == (word, tag, span, activation)
    assert SENTENCE["words"][found["place"]] == word


def test_a_first_token_that_does_not_count_is_no_peak() -> None:
    tokens = {"pole": "top", "starts": [0, 3], "ends": [3, 5], "activations": [9.0, 0.5]}
    words = [(peak_word(tokens, SENTENCE, counts) or {})["word"] for counts in (True, False)]
    assert words == ["Zoë", "'s"]


def test_there_may_be_none() -> None:
    assert peak_word({**TOKENS, "starts": [None] * 7, "ends": [None] * 7}, SENTENCE) is None
    assert peak_word(TOKENS, {"text": SENTENCE["text"], "words": None, "tags": None}) is None
    without_tags = peak_word(TOKENS, {**SENTENCE, "tags": None})
    assert without_tags is not None
    assert without_tags["tag"] is None
