"""The kinds of patterns, with one interface: mined, found again, filtered and written out the same way.

A pattern is a sequence of integers: the codes of words or tags, or the steps that build a subtree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ops.patterns import count_sequences, count_subtrees, mine_sequences, mine_subtrees, prefixspan_package
from ops.patterns.occurrences import Occurrences
from ops.patterns.productivity import productive_sequences, productive_subtrees
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees
from ops.patterns.subtree_trie import SubtreeTrie
from ops.sentences.mining_view import MiningView

Longs = npt.NDArray[np.int64]


class PatternKind(Protocol):
    """What mining knows of a kind of pattern."""

    @property
    def name(self) -> str:
        """The kind, as in `patterns/`."""

    @property
    def min_support(self) -> float:
        """The least share of the winners."""

    def mine(self, rows: Longs, min_count: int) -> tuple[Sequences, Longs]:
        """Return the patterns that at least `min_count` of these sentences contain, and how many do, `[patterns]`."""

    def find(self, rows: Longs, patterns: Sequences) -> Occurrences:
        """Return which of these sentences contain which pattern."""

    def counter(self, patterns: Sequences) -> Callable[[Longs], Longs]:
        """Return a function that counts, for each pattern, the sentences among given rows that contain it."""

    def productive(self, patterns: Sequences, lift: npt.NDArray[np.float64], factor: float) -> npt.NDArray[np.bool_]:
        """Return which patterns `[patterns]` have `factor` times the lift of each mined pattern one item shorter."""

    def texts_and_items(self, patterns: Sequences) -> tuple[list[str], list[list[str]]]:
        """Return each pattern as readable text, and its items."""


@dataclass(frozen=True)
class SequenceKind:
    """Words or tags in order, with gaps of at most `max_gap` items (None: any)."""

    name: str
    view: MiningView
    min_support: float
    max_length: int
    max_gap: int | None
    engine: str = "compiled"

    def _sequences(self, rows: Longs) -> Sequences:
        return self.view.words(rows) if self.name == "word" else self.view.tags(rows)

    def mine(self, rows: Longs, min_count: int) -> tuple[Sequences, Longs]:
        """See `PatternKind`."""
        sequences = self._sequences(rows)
        if self.engine == "prefixspan":
            found = prefixspan_package.mine(sequences, min_count, self.max_length)
            return Sequences.from_lists([p for p, _ in found]), np.array([s for _, s in found], np.int64)
        return mine_sequences.mine(sequences, min_count, self.max_length, self.max_gap)

    def find(self, rows: Longs, patterns: Sequences) -> Occurrences:
        """See `PatternKind`."""
        return count_sequences.occurrences(self._sequences(rows), patterns, self.max_gap)

    def counter(self, patterns: Sequences) -> Callable[[Longs], Longs]:
        """See `PatternKind`."""
        trie = SequenceTrie.build(patterns)
        return lambda rows: count_sequences.count(self._sequences(rows), trie, self.max_gap)

    def productive(self, patterns: Sequences, lift: npt.NDArray[np.float64], factor: float) -> npt.NDArray[np.bool_]:
        """See `PatternKind`."""
        return productive_sequences(patterns, lift, factor)

    def texts_and_items(self, patterns: Sequences) -> tuple[list[str], list[list[str]]]:
        """See `PatternKind`."""
        names = self.view.word_names if self.name == "word" else self.view.tag_names
        items = [[names[code] for code in pattern] for pattern in patterns.to_lists()]
        return [" ".join(pattern) for pattern in items], items


@dataclass(frozen=True)
class SubtreeKind:
    """Subtrees of phrase labels and tags, of 2 to `max_nodes` nodes."""

    view: MiningView
    min_support: float
    max_nodes: int
    name: str = "subtree"

    @property
    def _n_labels(self) -> int:
        return max(len(self.view.label_names), 1)

    def mine(self, rows: Longs, min_count: int) -> tuple[Sequences, Longs]:
        """See `PatternKind`."""
        found, support = mine_subtrees.mine(self.view.forest(rows), min_count, self.max_nodes)
        return found.extensions(self._n_labels), support

    def find(self, rows: Longs, patterns: Sequences) -> Occurrences:
        """See `PatternKind`."""
        return count_subtrees.occurrences(self.view.forest(rows), Subtrees.from_extensions(patterns, self._n_labels))

    def counter(self, patterns: Sequences) -> Callable[[Longs], Longs]:
        """See `PatternKind`."""
        trie = SubtreeTrie.build(Subtrees.from_extensions(patterns, self._n_labels))
        return lambda rows: count_subtrees.count(self.view.forest(rows), trie)

    def productive(self, patterns: Sequences, lift: npt.NDArray[np.float64], factor: float) -> npt.NDArray[np.bool_]:
        """See `PatternKind`."""
        return productive_subtrees(Subtrees.from_extensions(patterns, self._n_labels), lift, factor)

    def texts_and_items(self, patterns: Sequences) -> tuple[list[str], list[list[str]]]:
        """See `PatternKind`."""
        found = Subtrees.from_extensions(patterns, self._n_labels)
        items = [[self.view.label_names[label] for _, label in nodes] for nodes in found.to_lists()]
        return found.strings(self.view.label_names), items
