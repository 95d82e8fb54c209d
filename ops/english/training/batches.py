"""Training sentences as tensors: the rows of their distinct words and the labels of each word."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from torch import Tensor

from ops.english.labelling import CHANGES, DEPTHS, LOWEST_CHANGE
from ops.english.labels import encode
from ops.english.training.treebank import Sentence
from ops.english.words import Inventory
from ops.errors import InputError, counted
from ops.penn import ROOT

IGNORED = -100


@dataclass(frozen=True)
class Labels:
    """The names that the heads choose from, in the order of their outputs."""

    tags: list[str]
    phrases: list[str]
    unaries: list[str]


@dataclass(frozen=True)
class Batch:
    """Sentences, concatenated.

    Attributes:
        rows: the rows of the distinct words, as an Inventory returns them, `[kinds, COLUMNS]`.
        kinds: the index in `rows` of each word, `[words]`.
        targets: the tag, change of depth, depth (from 0), phrase and unary chain of each word, `[5, words]`; IGNORED if
            unknown.
        lengths: number of words of each sentence.
        parsed: which sentences have a tree.
    """

    rows: Tensor
    kinds: Tensor
    targets: Tensor
    lengths: list[int]
    parsed: list[bool]


def collect_labels(trees: Sequence[Sentence], tagged: Sequence[Sentence], minimum: int = 3) -> Labels:
    """Return the labels that occur at least `minimum` times in the sentences, sorted (no unary chain first).

    Raises:
        InputError: for some kind there is no such label.
    """
    tags: Counter[str] = Counter()
    phrases: Counter[str] = Counter()
    unaries: Counter[str] = Counter()
    for sentence in (*trees, *tagged):
        tags.update(sentence.tags)
        if sentence.tree is not None:
            labels = encode(sentence.tree)
            phrases.update(labels.phrases)
            unaries.update(labels.unaries)
    del phrases[ROOT]
    kinds = {"tag": tags, "phrase": phrases, "unary chain": unaries}
    kept = {kind: sorted(x for x, n in counts.items() if n >= minimum) for kind, counts in kinds.items()}
    for kind, names in kept.items():
        if not names:
            raise InputError(
                f"{counted(len(trees), 'tree')}: no {kind} occurs {minimum} times; give files with more trees"
            )
    return Labels(*kept.values())


class Batcher:
    """Makes batches of sentences with the codes of an inventory and of labels."""

    def __init__(self, inventory: Inventory, labels: Labels) -> None:
        self.inventory = inventory
        self._codes = [
            {name: code for code, name in enumerate(names)} for names in (labels.tags, labels.phrases, labels.unaries)
        ]

    def batches(self, sentences: Sequence[Sentence], words: int, random: Random) -> Iterator[Batch]:
        """Yield all sentences once, those of similar length in batches of about `words` words, in a random order."""
        by_length = sorted(sentences, key=lambda s: len(s.words) + random.random() * 4)
        groups: list[list[Sentence]] = [[]]
        count = 0
        for sentence in by_length:
            if count >= words:
                groups.append([])
                count = 0
            groups[-1].append(sentence)
            count += len(sentence.words)
        random.shuffle(groups)
        for group in groups:
            yield self.batch(group)

    def batch(self, sentences: Sequence[Sentence]) -> Batch:
        """Return these sentences as one batch, in their order."""
        kinds: dict[str, int] = {}
        places = [kinds.setdefault(word, len(kinds)) for sentence in sentences for word in sentence.words]
        targets = np.concatenate([self._targets(sentence) for sentence in sentences], 1)
        return Batch(
            torch.from_numpy(self.inventory.rows(kinds)),
            torch.tensor(places),
            torch.from_numpy(targets),
            [len(sentence.words) for sentence in sentences],
            [sentence.tree is not None for sentence in sentences],
        )

    def _targets(self, sentence: Sentence) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
        tags, phrases, unaries = self._codes
        targets = np.full((5, len(sentence.words)), IGNORED)
        targets[0] = [tags.get(tag, IGNORED) for tag in sentence.tags]
        if sentence.tree is not None:
            labels = encode(sentence.tree)
            depths = np.array([1, *labels.depths])
            targets[1, :-1] = np.clip(np.diff(depths) - LOWEST_CHANGE, 0, CHANGES - 1)
            targets[2, :-1] = np.minimum(depths[1:], DEPTHS) - 1
            targets[3, :-1] = [phrases.get(phrase, IGNORED) for phrase in labels.phrases]
            targets[4] = [unaries.get(chain, IGNORED) for chain in labels.unaries]
        return targets
