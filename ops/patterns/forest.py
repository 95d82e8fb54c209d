"""Constituency trees as flat arrays, in the form that subtrees are mined from: no words, no punctuation."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ops.errors import InputError
from ops.patterns.sequences import Sequences
from ops.penn_tags import PUNCTUATION_TAGS

ROOT = "ROOT"
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True)
class Forest:
    """Trees laid end to end, in preorder: `label int32 [n_nodes]` is a code, `offsets int64 [n_trees + 1]`.

    `size int32 [n_nodes]` counts a node and everything below it: the first child of node v is v + 1 where
    `size[v] > 1`, its next sibling v + size[v] where that still lies below their parent. A tree may be empty.
    """

    label: NDArray[np.int32]
    size: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        ends = self.offsets[[0, -1]].tolist() if self.offsets.size else []
        if not (ends == [0, self.label.size] and self.label.size == self.size.size):
            raise ValueError("forest: labels and sizes must be as many as the last offset says")

    @classmethod
    def from_trees(cls, trees: Iterable[tuple[list[str], list[int]]], codes: Mapping[str, int]) -> Self:
        """Return the forest of trees as `read` gives them, `codes` saying each label's number."""
        labels: list[int] = []
        sizes: list[int] = []
        lengths = [0]
        for names, below in trees:
            labels.extend(codes[name] for name in names)
            sizes.extend(below)
            lengths.append(len(names))
        return cls(np.array(labels, np.int32), np.array(sizes, np.int32), np.cumsum(lengths, dtype=np.int64))

    def __len__(self) -> int:
        return self.offsets.size - 1

    def take(self, rows: ArrayLike) -> Self:
        """Return the trees of these rows, in the order given (indices, or one bool a tree)."""
        labels = Sequences(self.label, self.offsets).take(rows)
        return type(self)(labels.items, Sequences(self.size, self.offsets).take(rows).items, labels.offsets)


def read_forest(texts: Iterable[str], collapse_root: bool = False) -> tuple[Forest, list[str]]:
    """Return the forest of bracketed strings and its labels: `labels[code]`, sorted.

    An empty string becomes an empty tree. Raises InputError where a string is not one tree, naming the row.

    >>> forest, labels = read_forest(["(ROOT (S (NP (PRP I)) (VP (VBP sleep)) (. .)))"], collapse_root=True)
    >>> [labels[code] for code in forest.label], forest.size.tolist()
    (['ROOT', 'NP', 'PRP', 'VP', 'VBP'], [5, 2, 1, 2, 1])
    """
    trees = []
    for row, text in enumerate(texts):
        try:
            trees.append(read(text, collapse_root))
        except InputError as error:
            raise InputError(f"row {row}: {error}") from None
    names = sorted({label for labels, _ in trees for label in labels})
    return Forest.from_trees(trees, {name: code for code, name in enumerate(names)}), names


def read(text: str, collapse_root: bool = False) -> tuple[list[str], list[int]]:
    """Return labels and sizes (a node and all below it) of a bracketed string's nodes, in preorder.

    Words are dropped and so are leaves tagged as punctuation; a phrase emptied by that stays. A bracket
    without a label is ROOT. `collapse_root` merges every S right under ROOT into it, as Oba 2021 prints
    subtrees.

    Raises InputError where the string is not one well-formed tree.

    >>> read("( (FRAG (-LRB- -LRB-) (NP (NN snow)) (PRN (. !))))")
    (['ROOT', 'FRAG', 'NP', 'NN', 'PRN'], [5, 4, 2, 1, 1])
    """
    tokens = _TOKEN.findall(text)
    labels: list[str] = []
    sizes: list[int] = []
    # Open nodes: their place in the preorder and what has been seen inside (nothing, a word or nodes).
    stack: list[list[int]] = []
    nothing, word, nodes = 0, 1, 2
    place = 0
    while place < len(tokens):
        token = tokens[place]
        place += 1
        if token == "(":
            named = place < len(tokens) and tokens[place] not in "()"
            if (stack and stack[-1][1] == word) or (not stack and place > 1):
                raise _malformed(text, "a bracket opens beside a word or a finished tree")
            if stack:
                stack[-1][1] = nodes
            stack.append([len(labels), nothing])
            labels.append(tokens[place] if named else ROOT)
            sizes.append(1)
            place += named
        elif token == ")":
            if not stack:
                raise _malformed(text, "a bracket closes that was never opened")
            node, seen = stack.pop()
            if seen == nothing:
                raise _malformed(text, f"the phrase {labels[node]} is empty")
            sizes[node] = len(labels) - node
            merged = collapse_root and labels[node] == "S" and len(stack) == 1 and labels[0] == ROOT
            if (seen == word and labels[node] in PUNCTUATION_TAGS) or (seen == nodes and merged):
                del labels[node], sizes[node]
        else:
            if not stack or stack[-1][1] != nothing:
                raise _malformed(text, f"the word {token!r} stands where no word can be")
            stack[-1][1] = word
    if stack:
        raise _malformed(text, f"{len(stack)} brackets are left open")
    return labels, sizes


def _malformed(text: str, found: str) -> InputError:
    return InputError(f"tree {text[:60]!r}: {found}; expected one tree such as (ROOT (NP (NN snow))); correct the tree")
