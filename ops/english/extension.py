"""`span._.parse_string`: a sentence's tree in Penn brackets, compatible with other pipes that offer the same."""

from collections.abc import Callable

from spacy.tokens import Doc, Span

NAME = "parse_string"


class ParseString:
    """The getter: the stored tree, otherwise the result of an earlier registered getter, otherwise an empty string."""

    def __init__(self, other: Callable[[Span], str] | None) -> None:
        self.other = other

    def __call__(self, span: Span) -> str:
        """Return the tree of exactly this span."""
        tree: str | None = span.doc.user_data.get((NAME, span.start, span.end))  # type: ignore[call-overload]
        if tree is None:
            return self.other(span) if self.other else ""
        return tree


def register_extension() -> None:
    """Register the extension; an existing one of the same name, such as benepar's, is used if there is no tree."""
    other = None
    if Span.has_extension(NAME):
        other = Span.get_extension(NAME)[2]
        if isinstance(other, ParseString):
            return
    Span.set_extension(NAME, getter=ParseString(other), force=True)


def store_tree(doc: Doc, start: int, stop: int, tree: str) -> None:
    """Store the tree of the sentence with the tokens from `start` up to `stop`; it is saved with the Doc.

    Args:
        doc: the Doc.
        start, stop: the first token of the sentence and the token after its last one.
        tree: the tree in the format of `penn.write`, under one ROOT, with a leaf for each token that is not white
            space.
    """
    doc.user_data[NAME, start, stop] = tree  # type: ignore[index]
