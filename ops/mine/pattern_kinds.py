"""The kinds of patterns, with one interface to mine, find, filter and name them.

A pattern is a sequence of integers: the codes of words or tags, or the steps that build a subtree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Float64s, Int64s
from ops.mine.sentence_sets import SentenceSets
from ops.patterns import count_sequences, count_subtrees, mine_sequences, mine_subtrees, prefixspan_package
from ops.patterns.mined import Mined
from ops.patterns.occurrences import Occurrences
from ops.patterns.productivity import productive_sequences, productive_subtrees
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees
from ops.sentences.mining_view import MiningView


@dataclass(frozen=True)
class SequenceKind:
    """Words or tags in order, with gaps of at most `max_gap` items (-1 for any number).

    Attributes:
        name: the kind's name in `patterns/`, `word` or `tag`.
        min_support: the minimum share of the winners that must contain a pattern.
        max_length: maximum number of items of a pattern.
        max_gap: maximum number of items between two neighbouring items of a pattern.
    """

    name: str
    view: MiningView
    min_support: float
    max_length: int
    max_gap: int
    engine: str = "compiled"

    def _sequences(self, rows: Int64s) -> Sequences:
        return self.view.words(rows) if self.name == "word" else self.view.tags(rows)

    def mine(self, sets: SentenceSets, least: Int64s) -> Mined:
        """Return the frequent patterns of each set; `least` is the `min_support` of `mine_sequences.mine_sets`."""
        given = self._sequences(sets.rows), sets.members, least, self.max_length
        if self.engine == "prefixspan":
            return prefixspan_package.mine_sets(*given, sets.marks, sets.documents)
        return mine_sequences.mine_sets(*given, self.max_gap, sets.marks, sets.documents)

    def finder(self, patterns: Sequences) -> Callable[[Int64s], Occurrences]:
        """Return a function that returns which sentences, given as rows, contain which of these patterns."""
        trie = SequenceTrie.build(patterns)
        return lambda rows: count_sequences.occurrences(self._sequences(rows), trie, self.max_gap)

    def counter(self, patterns: Sequences) -> Callable[[Int64s], Int64s]:
        """Return a function that counts, for each pattern, the sentences among given rows that contain it."""
        trie = SequenceTrie.build(patterns)
        return lambda rows: count_sequences.count(self._sequences(rows), trie, self.max_gap)

    def productive(self, patterns: Sequences, sets: Sequences, lift: Float64s, factor: float) -> Bools:
        """Return which patterns of sets have at least `factor` times the lift of each pattern one item shorter, `[n]`.

        `sets` contains the patterns of each set as indices into `patterns`, and `lift [n]` is the lift of each of
        these.
        """
        return productive_sequences(patterns, lift, factor, sets)

    def texts_and_items(self, patterns: Sequences) -> tuple[pa.Array, pa.ListArray]:
        """Return each pattern as readable text, and its items, as strings and lists of strings."""
        items = _named(patterns, self.view.word_names if self.name == "word" else self.view.tag_names)
        return pc.binary_join(items, " "), items


@dataclass(frozen=True)
class SubtreeKind:
    """Subtrees of phrase labels and tags, of 2 to `max_nodes` nodes; its methods do what those of `SequenceKind` do."""

    view: MiningView
    min_support: float
    max_nodes: int
    name: str = "subtree"

    @property
    def _n_labels(self) -> int:
        return max(len(self.view.label_names), 1)

    def _trie(self, patterns: Sequences) -> count_subtrees.SubtreeTrie:
        return count_subtrees.SubtreeTrie.build(Subtrees.from_extensions(patterns, self._n_labels))

    def mine(self, sets: SentenceSets, least: Int64s) -> Mined:
        """Mine the sets."""
        forest, limits = self.view.forest(sets.rows), (self.max_nodes, self._n_labels)
        return mine_subtrees.mine_sets(forest, sets.members, least, *limits, sets.marks, sets.documents)

    def finder(self, patterns: Sequences) -> Callable[[Int64s], Occurrences]:
        """Return what finds these patterns."""
        trie = self._trie(patterns)
        return lambda rows: count_subtrees.occurrences(self.view.forest(rows), trie)

    def counter(self, patterns: Sequences) -> Callable[[Int64s], Int64s]:
        """Return what counts these patterns."""
        trie = self._trie(patterns)
        return lambda rows: count_subtrees.count(self.view.forest(rows), trie)

    def productive(self, patterns: Sequences, sets: Sequences, lift: Float64s, factor: float) -> Bools:
        """Return which patterns are productive."""
        return productive_subtrees(Subtrees.from_extensions(patterns, self._n_labels), lift, factor, sets)

    def texts_and_items(self, patterns: Sequences) -> tuple[pa.Array, pa.ListArray]:
        """Return the bracketed strings of patterns, and their labels."""
        subtrees, names = Subtrees.from_extensions(patterns, self._n_labels), self.view.label_names
        items = _named(Sequences(subtrees.label, subtrees.offsets), names)
        return pa.array(subtrees.strings(names), pa.string()), items


PatternKind: TypeAlias = SequenceKind | SubtreeKind


def _named(patterns: Sequences, names: Sequence[str]) -> pa.ListArray:
    used, which = np.unique(patterns.items, return_inverse=True)
    items = pa.array([names[code] for code in used], pa.string()).take(pa.array(which))
    return pa.ListArray.from_arrays(pa.array(patterns.offsets.astype(np.int32)), items)


def pattern_kinds(view: MiningView, options: Mapping[str, Any]) -> dict[str, PatternKind]:
    """Return the kinds of patterns for which these sentences are annotated, by name.

    `options` are the options of `jobs.mine`.
    """
    kinds: dict[str, PatternKind] = {}
    for name, column in (("word", "words"), ("tag", "tags")):
        if view.store.has[column]:
            limits = {limit: options[f"{name}_{limit}"] for limit in ("min_support", "max_length", "max_gap")}
            kinds[name] = SequenceKind(name, view, engine=options["engine"], **limits)
    if view.store.has["labels"]:
        kinds["subtree"] = SubtreeKind(view, options["subtree_min_support"], options["subtree_max_nodes"])
    return kinds
