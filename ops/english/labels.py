"""Conversion of constituency trees to labels per token and back (Gómez-Rodríguez and Vilares 2018)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ops.errors import InputError
from ops.penn import ROOT, Tree, escape, leaves, read

CHAIN = "+"


@dataclass(frozen=True, slots=True)
class TreeLabels:
    """The labels of one tree over n tokens.

    Attributes:
        depths: number of phrases that contain both this token and the next, `[n - 1]`. ROOT is counted, and a unary
            chain counts as one phrase.
        phrases: the label of the lowest of these phrases, `[n - 1]`; a unary chain is joined from the top with `+`.
        unaries: the chain of phrases over this token alone, joined in the same way, or an empty string, `[n]`.
    """

    depths: list[int]
    phrases: list[str]
    unaries: list[str]


def encode(tree: Tree) -> TreeLabels:
    """Return the labels of a tree whose top is ROOT.

    Raises:
        InputError: the top of the tree is not ROOT, or another phrase is labelled ROOT or has a `+` in its label.
    """
    if tree.label != ROOT or tree.word is not None:
        raise InputError(f"tree with the top {tree.label!r}, expected {ROOT}; wrap the tree in it")
    depths: list[int] = []
    phrases: list[str] = []
    unaries: list[str] = []
    stack: list[tuple[Tree, int, str, bool]] = [(tree, 1, ROOT, False)]
    while stack:
        node, depth, name, between = stack.pop()
        if between:
            depths.append(depth)
            phrases.append(name)
            continue
        for child in reversed(node.children):
            chain, bottom = _chain(child)
            stack.append((bottom, depth + 1, chain, False))
            stack.append((node, depth, name, True))
        if node.children:
            stack.pop()
        if node.word is not None:
            unaries.append(name)
    return TreeLabels(depths, phrases, unaries)


def bracketed(words: Sequence[str], tags: Sequence[str], labels: TreeLabels) -> str:
    """Return the bracketed string of the tree of any labels over n words, n of at least 1, under one ROOT.

    A phrase gets the name at the first position between two of its children. A depth that no two neighbours share
    makes no phrase.

    Args:
        words, tags: the words and tags of the tokens, `[n]`.
        labels: the labels, with any depths from 1.

    >>> bracketed(["I", "sleep"], ["PRP", "VBP"], TreeLabels([2], ["S"], ["NP", "VP"]))
    '(ROOT (S (NP (PRP I)) (VP (VBP sleep))))'
    """
    opening = [""] * len(words)
    closing = [""] * len(words)
    path: list[tuple[int, int, str]] = [(1, 0, "")]  # depth, first word and closing brackets of the open phrases
    top = 1
    for position, depth in enumerate(labels.depths):
        if depth > top:
            first = position
        elif depth < top:
            while top > depth:
                _, first, ends = path.pop()
                closing[position] += ends
                top = path[-1][0]
            if top == depth:
                continue
        else:
            continue
        opens, ends = _chain_brackets(labels.phrases[position])
        opening[first] = opens + opening[first]
        path.append((depth, first, ends))
        top = depth
    if words:
        closing[-1] += "".join(ends for _, _, ends in reversed(path))
    leaves = map(_bracketed_leaf, words, tags, labels.unaries)
    return f"(ROOT {' '.join(map(''.join, zip(opening, leaves, closing, strict=True)))})"


def decode(words: Sequence[str], tags: Sequence[str], labels: TreeLabels) -> Tree:
    """Return the tree of any labels over n words, with the words as given; the arguments are those of `bracketed`."""
    marks = ["X"] * len(words)  # words and tags may contain brackets
    tree = read(bracketed(marks, marks, labels))
    for leaf, word, tag in zip(leaves(tree), words, tags, strict=True):
        leaf.word, leaf.label = word, tag
    return tree


@lru_cache(1 << 12)
def _chain_brackets(chain: str) -> tuple[str, str]:
    labels = chain.split(CHAIN)
    return "".join(f"({label} " for label in labels), ")" * len(labels)


@lru_cache(1 << 16)
def _bracketed_leaf(word: str, tag: str, chain: str) -> str:
    leaf = f"({tag} {escape(word)})"
    if not chain:
        return leaf
    opens, ends = _chain_brackets(chain)
    return f"{opens}{leaf}{ends}"


def _chain(node: Tree) -> tuple[str, Tree]:
    """Return the joined labels of the phrases from `node` down to the first branching node or leaf, and this node."""
    names: list[str] = []
    while node.word is None:
        if CHAIN in node.label or node.label == ROOT or not node.children:
            raise InputError(
                f"phrase {node.label!r} with {len(node.children)} children, expected a label without"
                f" {CHAIN!r} other than {ROOT} and at least one child; rename or drop it"
            )
        names.append(node.label)
        if len(node.children) > 1:
            break
        node = node.children[0]
    return CHAIN.join(names), node
