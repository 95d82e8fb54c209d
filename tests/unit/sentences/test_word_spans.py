"""The spans of words in a sentence are those that the pipeline found, in any script."""

from hypothesis import given
from hypothesis import strategies as st

from ops.sentences.pipeline import Annotator
from ops.sentences.word_spans import word_spans


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=("Z", "C")), min_size=1), st.booleans())))
def test_pieces_of_a_text_in_order_are_found_where_they_are(pieces: list[tuple[str, bool]]) -> None:
    text, expected = "", []
    for word, spaced in pieces:
        text += " " * spaced
        expected.append((len(text), len(text) + len(word)))
        text += word
    assert word_spans(text, [word for word, _ in pieces]) == expected


def test_every_word_of_a_pipeline_has_its_span_and_a_normalised_one_none() -> None:
    annotator = Annotator("blank")
    for text in ("a 😀😀 b 👩‍👩‍👧 it's café.", "the the the", "ﬁne 漢字 שלום <b>&amp;</b>", "don't can't U.S.A. $5.00"):
        (found,) = annotator.annotate([text])
        spans = word_spans(text, found.words)
        assert [text[slice(*span)] for span in spans if span] == found.words
        assert "".join(found.words) == "".join(text.split())
    assert word_spans("He will not.", ["He", "would", "not", "."]) == [(0, 2), None, (8, 11), (11, 12)]
