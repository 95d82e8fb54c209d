"""The kinds of patterns, with one interface: mined, found again, filtered and spelled the same way.

A pattern is a sequence of integers: the codes of words or tags, or the steps that build a subtree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ops.patterns import count_sequences as count_patterns
from ops.patterns import count_subtrees
from ops.patterns import mine_sequences as prefixspan
from ops.patterns import mine_subtrees as subtrees
from ops.patterns import prefixspan_package as reference_prefixspan
from ops.patterns.occurrences import Occurrences
from ops.patterns.productivity import productive_sequences, productive_subtrees
from ops.patterns.sequence_trie import PatternTrie
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees
from ops.patterns.subtree_trie import SubtreeTrie
from ops.sentences.mining_view import MiningText

Longs = npt.NDArray[np.int64]
KINDS = ("subtree", "tag", "word")


class PatternKind(Protocol):
    """What the jobs know of a kind of pattern."""

    @property
    def name(self) -> str:
        """The kind, as in `patterns/`."""

    @property
    def min_support(self) -> float:
        """The least share of the winners."""

    def mine(self, rows: Longs, min_count: int) -> tuple[Sequences, Longs]:
        """Return the patterns that at least `min_count` of these sentences contain, and how many do."""

    def find(self, rows: Longs, patterns: Sequences) -> Occurrences:
        """Tell which of these sentences contain which pattern."""

    def counter(self, patterns: Sequences) -> Callable[[Longs], Longs]:
        """Return a function that counts, for each pattern, the sentences among given rows that contain it."""

    def productive(self, patterns: Sequences, lift: npt.NDArray[np.float64], factor: float) -> npt.NDArray[np.bool_]:
        """Tell which patterns have `factor` times the lift of each mined pattern one item shorter."""

    def spell(self, patterns: Sequences) -> tuple[list[str], list[list[str]]]:
        """Return each pattern as readable text, and its items."""


@dataclass(frozen=True)
class SequenceKind:
    """Words or tags in order, with gaps of at most `max_gap` items (None: any)."""

    name: str
    text: MiningText
    min_support: float
    max_length: int
    max_gap: int | None
    engine: str = "compiled"

    def _sequences(self, rows: Longs) -> Sequences:
        return self.text.words(rows) if self.name == "word" else self.text.tags(rows)

    def mine(self, rows: Longs, min_count: int) -> tuple[Sequences, Longs]:
        """See `PatternKind`."""
        sequences = self._sequences(rows)
        if self.engine == "prefixspan":
            found = reference_prefixspan.mine(sequences, min_count, self.max_length)
            return Sequences.from_lists([p for p, _ in found]), np.array([s for _, s in found], np.int64)
        return prefixspan.mine(sequences, min_count, self.max_length, self.max_gap)

    def find(self, rows: Longs, patterns: Sequences) -> Occurrences:
        """See `PatternKind`."""
        return count_patterns.occurrences(self._sequences(rows), patterns, self.max_gap)

    def counter(self, patterns: Sequences) -> Callable[[Longs], Longs]:
        """See `PatternKind`."""
        trie = PatternTrie.build(patterns)
        return lambda rows: count_patterns.count(self._sequences(rows), trie, self.max_gap)

    def productive(self, patterns: Sequences, lift: npt.NDArray[np.float64], factor: float) -> npt.NDArray[np.bool_]:
        """See `PatternKind`."""
        return productive_sequences(patterns, lift, factor)

    def spell(self, patterns: Sequences) -> tuple[list[str], list[list[str]]]:
        """See `PatternKind`."""
        names = self.text.words_names if self.name == "word" else self.text.tag_names
        items = [[names[code] for code in pattern] for pattern in patterns.to_lists()]
        return [" ".join(pattern) for pattern in items], items


@dataclass(frozen=True)
class SubtreeKind:
    """Subtrees of phrase labels and tags, of 2 to `max_nodes` nodes."""

    text: MiningText
    min_support: float
    max_nodes: int
    name: str = "subtree"

    @property
    def _labels(self) -> int:
        return max(len(self.text.label_names), 1)

    def mine(self, rows: Longs, min_count: int) -> tuple[Sequences, Longs]:
        """See `PatternKind`."""
        found, support = subtrees.mine(self.text.forest(rows), min_count, self.max_nodes)
        return found.extensions(self._labels), support

    def find(self, rows: Longs, patterns: Sequences) -> Occurrences:
        """See `PatternKind`."""
        return count_subtrees.occurrences(self.text.forest(rows), Subtrees.from_extensions(patterns, self._labels))

    def counter(self, patterns: Sequences) -> Callable[[Longs], Longs]:
        """See `PatternKind`."""
        trie = SubtreeTrie.build(Subtrees.from_extensions(patterns, self._labels))
        return lambda rows: count_subtrees.count(self.text.forest(rows), trie)

    def productive(self, patterns: Sequences, lift: npt.NDArray[np.float64], factor: float) -> npt.NDArray[np.bool_]:
        """See `PatternKind`."""
        return productive_subtrees(Subtrees.from_extensions(patterns, self._labels), lift, factor)

    def spell(self, patterns: Sequences) -> tuple[list[str], list[list[str]]]:
        """See `PatternKind`."""
        found = Subtrees.from_extensions(patterns, self._labels)
        items = [[self.text.label_names[label] for _, label in nodes] for nodes in found.to_lists()]
        return found.strings(self.text.label_names), items
