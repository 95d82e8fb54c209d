"""Penn bracketed trees and tags; trees are read and written without recursion, so that their depth is not limited."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ops.errors import InputError

ROOT = "ROOT"
TAG_CLASSES = ("noun", "verb", "adjective", "other")

# Punctuation is defined only by the tag, so symbols such as % and words such as "lol" are not punctuation.
PUNCTUATION_TAGS = frozenset({",", ":", ".", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"})

# A bracket or a word. An opening bracket includes the label that follows, and for a complete leaf also the word.
_PIECE = re.compile(r"(\(|\)|[^\s()]+)(?:(?<=\()\s*([^\s()]*)(?:\s+([^\s()]+)\s*\))?)?")
_ESCAPES = {"(": "-LRB-", ")": "-RRB-"}


@dataclass(slots=True, eq=False)
class Tree:
    """A phrase with children, or a leaf with a tag as its label and the word as written, without escaped brackets."""

    label: str
    children: "list[Tree]" = field(default_factory=list)
    word: str | None = None


def read(text: str) -> Tree:
    """Return the tree of one bracketed string; a missing label after a bracket becomes ``ROOT``.

    Raises InputError if the string is not one well-formed tree.

    >>> write(read("( (S (NP (PRP I)) (VP (VBP sleep))))"))
    '(ROOT (S (NP (PRP I)) (VP (VBP sleep))))'
    """
    labels, words, parents = _nodes(text)
    if not labels:
        raise _malformed(text, "it holds no tree")
    nodes = [Tree(label, [], unescape(word) if word else None) for label, word in zip(labels, words, strict=True)]
    for node, parent in zip(nodes[1:], parents[1:], strict=True):
        nodes[parent].children.append(node)
    return nodes[0]


def read_labels_and_sizes(text: str) -> tuple[list[str], list[int]]:
    """Return the labels and subtree sizes of a bracketed string's nodes, in preorder.

    A node's size counts the node and all nodes below it. Words and leaves tagged as punctuation are dropped, but a
    phrase that becomes empty is kept. A bracket without a label is ``ROOT``; an empty string has no nodes.

    Raises InputError if the string is not one well-formed tree.

    >>> read_labels_and_sizes("( (FRAG (-LRB- -LRB-) (NP (NN snow)) (PRN (. !))))")
    (['ROOT', 'FRAG', 'NP', 'NN', 'PRN'], [5, 4, 2, 1, 1])
    """
    labels, words, parents = _nodes(text)
    sizes = [0 if word and label in PUNCTUATION_TAGS else 1 for label, word in zip(labels, words, strict=True)]
    dropped = not all(sizes)
    for node in range(len(labels) - 1, 0, -1):
        sizes[parents[node]] += sizes[node]
    if dropped:
        labels = [label for label, size in zip(labels, sizes, strict=True) if size]
        sizes = [size for size in sizes if size]
    return labels, sizes


def write(tree: Tree) -> str:
    """Return the bracketed string of a tree on one line, with brackets in words escaped as -LRB- and -RRB-."""
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
    """Return the leaves (with tag and word) from left to right."""
    return [node for node in walk(tree) if node.word is not None]


def walk(tree: Tree) -> Iterator[Tree]:
    """Yield every node, including leaves, in preorder."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def escape(word: str) -> str:
    """Return a word escaped for a bracketed string: round brackets as -LRB- and -RRB-, white space as ``_``."""
    for bracket, name in _ESCAPES.items():
        if bracket in word:
            word = word.replace(bracket, name)
    return "_".join(word.split()) or "_"


def unescape(word: str) -> str:
    """Return the original word, given its escaped form in a bracketed string."""
    if "-" in word:
        for bracket, name in _ESCAPES.items():
            word = word.replace(name, bracket)
    return word


def tag_class(tag: str) -> str:
    """Return a Penn tag's class: noun (NN...), verb (VB...), adjective (JJ...) or other (modals too).

    >>> [tag_class(tag) for tag in ("NNPS", "VBZ", "JJR", "MD")]
    ['noun', 'verb', 'adjective', 'other']
    """
    return {"NN": "noun", "VB": "verb", "JJ": "adjective"}.get(tag[:2], "other")


def _nodes(text: str) -> tuple[list[str], list[str], list[int]]:
    """Return each node's label, word ("" for a phrase) and parent (-1 for the top), in preorder."""
    labels: list[str] = []
    words: list[str] = []
    parents: list[int] = []
    phrase, enclosing = -1, []  # the innermost open phrase, and those around it
    pieces = _PIECE.findall(text)
    for index, (piece, label, word) in enumerate(pieces):
        if piece == "(":
            if phrase < 0 and labels:
                raise _malformed(text, "a bracket opens after a finished tree")
            parents.append(phrase)
            words.append(word)
            if not word:
                enclosing.append(phrase)
                phrase = len(labels)
            labels.append(label or ROOT)
        elif piece == ")":
            if phrase < 0:
                raise _malformed(text, "a bracket closes that was never opened")
            if phrase == len(labels) - 1:
                raise _malformed(text, f"the phrase {labels[phrase]} is empty")
            phrase = enclosing.pop()
        else:
            # In a well-formed leaf, the word is matched together with its bracket. So this word is outside a leaf, or
            # it is not the only word of its leaf.
            in_leaf = phrase >= 0 and phrase == len(labels) - 1
            goes_on = pieces[index + 1][0] if in_leaf and index + 1 < len(pieces) else None
            if in_leaf and goes_on is None:
                break
            if goes_on == "(":
                raise _malformed(text, f"a bracket opens next to a word, {piece!r}")
            raise _malformed(text, f"the word {goes_on or piece!r} is where no word can be")
    if phrase >= 0:
        raise _malformed(text, f"{len(enclosing)} brackets are left open")
    return labels, words, parents


def _malformed(text: str, fault: str) -> InputError:
    return InputError(f"tree {text[:60]!r}: {fault}; expected one tree such as (ROOT (NP (NN snow))); correct the tree")
