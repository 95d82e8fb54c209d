"""Labelled bracketing scores of predicted trees against gold trees, counted as in evalb."""

from collections import Counter
from dataclasses import dataclass

from ops.errors import InputError
from ops.penn import ROOT, Tree, leaves

PUNCTUATION = frozenset([",", ":", "``", "''", "."])

Bracket = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The number of brackets in both trees, in the gold tree and in the predicted tree; agreements can be added."""

    matched: int = 0
    gold: int = 0
    predicted: int = 0

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(self.matched + other.matched, self.gold + other.gold, self.predicted + other.predicted)

    @property
    def precision(self) -> float:
        """Share of the predicted brackets that are gold, in percent (100 if there are no predicted brackets)."""
        return 100 * self.matched / self.predicted if self.predicted else 100.0

    @property
    def recall(self) -> float:
        """Share of the gold brackets that are predicted, in percent (100 if there are no gold brackets)."""
        return 100 * self.matched / self.gold if self.gold else 100.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in percent (100 if there are no brackets)."""
        total = self.predicted + self.gold
        return 200 * self.matched / total if total else 100.0


def agreement(gold: Tree, predicted: Tree) -> Agreement:
    """Return the agreement in label and span of two trees over the same characters.

    ROOT and punctuation are ignored, and PRT counts as ADVP. Spans are measured in characters of the words, so that the
    trees may differ in tokenization. The gold tags decide which characters are punctuation.

    Raises:
        InputError: the characters differ.

    >>> from ops.penn import read
    >>> gold = read("(ROOT (S (NP (PRP I)) (VP (VBP sleep)) (. .)))")
    >>> agreement(gold, read("(ROOT (S (NP (PRP I)) (NP (NN sleep)) (. .)))"))
    Agreement(matched=2, gold=3, predicted=3)
    """
    text = "".join(_words(gold))
    other = "".join(_words(predicted))
    if text != other:
        raise InputError(f"predicted tree over {other[:60]!r}, expected the gold tree's words {text[:60]!r}")
    counted: list[int] = [0]
    for leaf in leaves(gold):
        step = 0 if leaf.label in PUNCTUATION else 1
        for _ in leaf.word or "":
            counted.append(counted[-1] + step)
    ours, theirs = brackets(gold, counted), brackets(predicted, counted)
    return Agreement((ours & theirs).total(), ours.total(), theirs.total())


def brackets(tree: Tree, counted: list[int]) -> "Counter[Bracket]":
    """Return every phrase as (label, start, stop) with its number of occurrences, without leaves and ROOT.

    Args:
        tree: the tree.
        counted: for each position between characters, the number of counted characters before it, `[characters + 1]`;
            phrases without a counted character are skipped.
    """
    found: Counter[Bracket] = Counter()
    place = 0
    stack: list[tuple[Tree, int]] = [(tree, -1)]
    while stack:
        node, start = stack.pop()
        if node.word is not None:
            place += len(node.word)
        elif start < 0:
            stack.append((node, place))
            stack.extend((child, -1) for child in reversed(node.children))
        else:
            span = counted[start], counted[place]
            if node.label != ROOT and span[0] < span[1]:
                found["ADVP" if node.label == "PRT" else node.label, *span] += 1
    return found


def _words(tree: Tree) -> list[str]:
    return [leaf.word or "" for leaf in leaves(tree)]
