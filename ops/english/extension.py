"""`span._.parse_string`: a sentence's tree in Penn brackets, beside other pipes that offer the same."""

from collections.abc import Callable

from spacy.tokens import Doc, Span

NAME = "parse_string"


class ParseString:
    """The getter: the stored tree, else what a getter registered before returns, else an empty string."""

    def __init__(self, other: Callable[[Span], str] | None) -> None:
        self.other = other

    def __call__(self, span: Span) -> str:
        """Return the tree of exactly this span."""
        tree: str | None = span.doc.user_data.get((NAME, span.start, span.end))  # type: ignore[call-overload]
        if tree is None:
            return self.other(span) if self.other else ""
        return tree


def register_extension() -> None:
    """Register the extension; one of the same name from before (benepar's, say) is asked where there is no tree."""
    other = None
    if Span.has_extension(NAME):
        other = Span.get_extension(NAME)[2]
        if isinstance(other, ParseString):
            return
    Span.set_extension(NAME, getter=ParseString(other), force=True)


def store_tree(doc: Doc, start: int, stop: int, tree: str) -> None:
    """Keep the tree of the sentence of the tokens from `start` to the one before `stop`; it is saved with the Doc.

    Args:
        doc: the Doc.
        start, stop: the sentence.
        tree: as `penn.write` writes it, under one ROOT, with a leaf for each token that is not white space.
    """
    doc.user_data[NAME, start, stop] = tree  # type: ignore[index]
