"""``span._.parse_string``: a sentence's tree in Penn brackets, beside other pipes that offer the same."""

from collections.abc import Callable

from spacy.tokens import Doc, Span

NAME = "parse_string"


class ParseString:
    """The getter: the stored tree, else what a getter registered before gives, else an empty string."""

    def __init__(self, other: Callable[[Span], str] | None) -> None:
        self.other = other

    def __call__(self, span: Span) -> str:
        """The tree of exactly this span."""
        tree: str | None = span.doc.user_data.get((NAME, span.start, span.end))  # type: ignore[call-overload]
        if tree is None:
            return self.other(span) if self.other else ""
        return tree


def register() -> None:
    """Register the extension, in front of one of the same name that is there already (benepar's, say)."""
    other = None
    if Span.has_extension(NAME):
        other = Span.get_extension(NAME)[2]
        if isinstance(other, ParseString):
            return
    Span.set_extension(NAME, getter=ParseString(other), force=True)


def store(doc: Doc, start: int, end: int, tree: str) -> None:
    """Keep the tree of the sentence from token ``start`` to before ``end``; it is saved with the Doc."""
    doc.user_data[NAME, start, end] = tree  # type: ignore[index]
