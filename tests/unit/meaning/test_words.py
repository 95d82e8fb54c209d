from hypothesis import example, given
from hypothesis import strategies as st

from ops.meaning.words import SENTENCE_END, UNKNOWN, fold, numbered, split_words, word_spans, words_and_ends

TEXTS = st.lists(st.text(st.sampled_from("ab1.,-'\u2019 !\n_\u00e9"), max_size=30), max_size=5)


@given(TEXTS, st.sampled_from(["keep", "lower"]))
@example(["AΣ:B"], "lower")  # the lower case of a last sigma is another letter
def test_sentences_together_give_the_words_of_each(texts: list[str], case: str) -> None:
    expected = [word for text in texts for word in [*split_words(text, case), "\n"]]
    assert words_and_ends(texts, case) == expected


@given(st.text(st.sampled_from("abC1.,-'\u2019 !_\u00e9"), max_size=40))
@example("AΣ:B")
def test_spans_are_those_of_the_words(text: str) -> None:
    assert [fold(text[start:stop], "lower") for start, stop in word_spans(text)] == split_words(text, "lower")


def test_punctuation_is_no_word_apostrophes_are_one_and_underscores_part_words() -> None:
    assert split_words("Don\u2019t -- stop!", "lower") == ["don't", "stop"]
    assert split_words("... !? --") == []
    assert split_words("snake_case, __init__ and _ but 1_000 or re-run_it's") == [
        *("snake", "case", "init", "and", "but", "1", "000", "or", "re-run", "it's")
    ]


def test_unknown_words_keep_their_places() -> None:
    words = words_and_ends(["a b c", "b"], "keep")
    assert numbered(words, {"a": 0, "b": 1}).tolist() == [0, 1, UNKNOWN, SENTENCE_END, 1, SENTENCE_END]
