"""The sentences of a Doc, whether or not a pipe has set their boundaries, and their trees `span._.parse_string`."""

from collections.abc import Callable
from functools import partial

from spacy.tokens import Doc, Span

NAME = "parse_string"


def register_extension() -> None:
    """Register the extension; an existing one of the same name, such as benepar's, is used if there is no tree."""
    other = Span.get_extension(NAME)[2] if Span.has_extension(NAME) else None
    if not (isinstance(other, partial) and other.func is _tree):
        Span.set_extension(NAME, getter=partial(_tree, other), force=True)


def _tree(other: Callable[[Span], str] | None, span: Span) -> str:
    """Return the stored tree of exactly this span, or else the result of the other getter, or else an empty string."""
    tree: str | None = span.doc.user_data.get((NAME, span.start, span.end))  # type: ignore[call-overload]
    if tree is None:
        return other(span) if other else ""
    return tree


def store_tree(doc: Doc, start: int, stop: int, tree: str) -> None:
    """Store the tree of the sentence with the tokens from `start` up to `stop`; it is saved with the Doc.

    Args:
        doc: the Doc.
        start, stop: the first token of the sentence and the token after its last one.
        tree: the tree in the format of `penn.write`, under one ROOT, with a leaf for each token that is not white
            space.
    """
    doc.user_data[NAME, start, stop] = tree  # type: ignore[index]


def sentence_spans(doc: Doc) -> list[tuple[int, int]]:
    """Return each sentence's first token and the token after its last; one sentence if no boundary is set."""
    if not doc.has_annotation("SENT_START"):
        return [(0, len(doc))]
    return [(sentence.start, sentence.end) for sentence in doc.sents]


def fill_boundaries(doc: Doc) -> None:
    """Make the complete Doc one sentence if no boundary is set, so that `doc.sents` can be read."""
    if not doc.has_annotation("SENT_START"):
        for token in doc:
            token.is_sent_start = token.i == 0
