"""Penn bracketed trees: read and write them, without recursion, so that any depth passes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ops.errors import InputError

ROOT = "ROOT"

_TOKEN = re.compile(r"[()]|[^\s()]+")
_ESCAPES = {"(": "-LRB-", ")": "-RRB-"}


@dataclass(slots=True, eq=False)
class Tree:
    """A phrase with children, or a leaf: a tag as label and the word as written, brackets not escaped."""

    label: str
    children: "list[Tree]" = field(default_factory=list)
    word: str | None = None


def read(text: str) -> Tree:
    """The tree of one bracketed string, a label missing after a bracket being ``ROOT``.

    Raises InputError where the string isn't one well-formed tree.

    >>> write(read("( (S (NP (PRP I)) (VP (VBP sleep))))"))
    '(ROOT (S (NP (PRP I)) (VP (VBP sleep))))'
    """
    tokens = _TOKEN.findall(text)
    top = Tree("")
    stack = [top]
    place, end = 0, len(tokens)
    while place < end:
        token = tokens[place]
        if token == "(":
            label = tokens[place + 1] if place + 1 < end else ")"
            named = label not in ("(", ")")
            if stack[-1].word is not None:
                raise _malformed(text, f"a bracket opens beside the word {stack[-1].word!r}")
            node = Tree(label if named else ROOT)
            stack[-1].children.append(node)
            stack.append(node)
            place += 1 + named
        elif token == ")":
            closed = stack.pop()
            if not stack or (closed.word is None and not closed.children):
                raise _malformed(text, f"piece {place + 1} closes {'an empty phrase' if stack else 'nothing'}")
            place += 1
        else:
            node = stack[-1]
            if node is top or node.word is not None or node.children:
                raise _malformed(text, f"the word {token!r} stands beside a tree, a phrase or another word")
            node.word = unescape(token)
            place += 1
    if len(stack) != 1 or len(top.children) != 1:
        raise _malformed(text, f"{len(stack) - 1} brackets left open, {len(top.children)} trees")
    return top.children[0]


def write(tree: Tree) -> str:
    """The bracketed string of a tree, on one line, brackets in words written -LRB- and -RRB-."""
    pieces: list[str] = []
    stack: list[Tree | None] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            pieces.append(")")
        elif node.word is not None:
            pieces.append(f" ({node.label} {escape(node.word)})")
        else:
            pieces.append(f" ({node.label}")
            stack.append(None)
            stack.extend(reversed(node.children))
    return "".join(pieces)[1:]


def leaves(tree: Tree) -> list[Tree]:
    """The leaves (tag and word) from left to right."""
    return [node for node in walk(tree) if node.word is not None]


def walk(tree: Tree) -> Iterator[Tree]:
    """Every node in preorder, leaves too."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def escape(word: str) -> str:
    """A word as it stands in a bracketed string: round brackets as -LRB- and -RRB-, white space as ``_``."""
    for bracket, name in _ESCAPES.items():
        if bracket in word:
            word = word.replace(bracket, name)
    return "_".join(word.split()) or "_"


def unescape(word: str) -> str:
    """A word as written, from its form in a bracketed string."""
    if "-" in word:
        for bracket, name in _ESCAPES.items():
            word = word.replace(name, bracket)
    return word


def _malformed(text: str, found: str) -> InputError:
    return InputError(
        f"tree {text[:60]!r}: {found}; expected one bracketed tree, every bracket closed; correct the line"
    )
