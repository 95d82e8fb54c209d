import pytest
import spacy
from spacy.tokens import Doc, Span

from ops.english.sentences import NAME, register_extension, store_tree

VOCAB = spacy.blank("en").vocab


@pytest.fixture
def restored():
    """The extension as it was before the test."""
    before = Span.get_extension(NAME) if Span.has_extension(NAME) else None
    yield
    if before is None:
        Span.remove_extension(NAME)
    else:
        Span.set_extension(NAME, getter=before[2], force=True)


def test_another_pipes_trees_stay_readable(restored):
    Span.set_extension(NAME, getter=lambda span: f"theirs {span.text}", force=True)
    register_extension()
    register_extension()
    doc = Doc(VOCAB, words=["a", "b"])
    store_tree(doc, 0, 1, "ours")
    assert doc[0:1]._.parse_string == "ours"
    assert doc[1:2]._.parse_string == "theirs b"
