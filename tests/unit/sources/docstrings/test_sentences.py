from hypothesis import given
from hypothesis import strategies as st

from ops.sources.docstrings.sentences import is_prose, prose_sentences

PROSE = [
    "Return the sum.",
    "It isn't a file-like object (see above).",
    '"Why" is not an answer!',
    "Does it return two values?",
    "Reads up to 10 lines of the file at once.",
]
NO_PROSE = [
    "return the sum.",
    "Return the sum",
    "The sum.",
    "It holds {a} of it.",
    "It is true if a == b.",
    "It is called as f(a, b) in it.",
    "It runs with --verbose on it.",
    "Tensor shape batch heads length dimension.",
    "See https://example.org for the rest.",
    "It ends with an abbreviation e.g.",
    "It has an unclosed (parenthesis in it.",
    "The x_1 y_2 z_3 q_4 of it.",
    "Name: the name of the thing.",
    "It is ``code`` that was left.",
    "It is " + "very " * 120 + "long.",
]


def test_prose_is_told_from_the_rest() -> None:
    assert [sentence for sentence in (*PROSE, *NO_PROSE) if is_prose(sentence)] == PROSE


def test_sentences_are_judged_one_by_one() -> None:
    paragraph = "Note: It is i.e. The one. See a == b. It works, e.g. When it rains. The rest is cut: x"
    assert prose_sentences(paragraph) == ["It is i.e. The one.", "It works, e.g. When it rains."]


@given(st.text(st.sampled_from("aT. \"'()[]:!?-e.g"), max_size=60))
def test_sentences_are_parts_of_the_paragraph(paragraph: str) -> None:
    for sentence in prose_sentences(paragraph):
        assert sentence in paragraph
        assert is_prose(sentence)
