"""The literals of a run: yes/no questions about sentences, and which sentences answer yes."""

from collections.abc import Callable, Container, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import hstack

from ops.arrays import Bools, Int8s, Int32s, Int64s
from ops.literals.incidence import incidence, occurrences
from ops.literals.literal import KINDS, Literal, plainness
from ops.literals.sentence_literals import form_properties, value_properties
from ops.mine.pattern_kinds import PatternKind
from ops.mine.properties import Profiler, Property, Selection
from ops.mine.value_counts import distinct_values, occurrences_of
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences
from ops.patterns.subtree_patterns import Subtrees
from ops.sentences.mining_view import MiningView
from ops.sentences.names import Names

_ROWS = 1 << 13  # sentences processed at once

# A function that returns, for each of some literals, which of the given sentences have it.
_Find = Callable[[Selection], Occurrences]


class Literals:
    """The literals of the pool, `[L]`. Literals of kind `hub` belong to one neuron and are not among them.

    Args:
        pool: the literals, by the schema of `ops.literals.pool`.
        view: the sentences, with words in lower case.
        kinds: the kinds of pattern (word, tag, subtree) for which the sentences are annotated, with the run's rules for
            gaps.
        nuisance: the metadata keys that are nuisance.

    Attributes:
        every: the literals.
        kind: each literal's index in `KINDS`, int8.
        nuisance: whether each literal says where a sentence comes from or how long it is, bool: its length, its data
            set, nuisance metadata, and which keys of metadata it has.
        known: for each literal about metadata, the literal that says which sentences have its key; -1 for all others.
        plainness: the plainness of each literal, as `ops.literals.literal.plainness` returns it.
    """

    def __init__(
        self, pool: pa.Table, view: MiningView, kinds: Mapping[str, PatternKind], nuisance: Container[str] = ()
    ) -> None:
        rows = zip(*(pool[name].to_pylist() for name in ("kind", "pattern", "items")), strict=True)
        self.every = [Literal(*row) for row in rows]
        self.kind: Int8s = np.array([KINDS.index(literal.kind) for literal in self.every], np.int8)
        self._profiler = Profiler(view, nuisance)
        sources = [source.name for source in value_properties(self._profiler).values() if source.is_nuisance]
        are_nuisance = [
            literal.kind == "length" or literal.is_key or (literal.kind == "value" and literal.items[0] in sources)
            for literal in self.every
        ]
        self.nuisance: Bools = np.array(are_nuisance, bool)
        keys = {literal.items[0]: i for i, literal in enumerate(self.every) if literal.is_key}
        known = [
            keys.get(literal.items[0], -1) if literal.kind == "value" and not literal.is_key else -1
            for literal in self.every
        ]
        self.known: Int64s = np.array(known, np.int64)
        self.plainness = plainness(self.every)
        self._asked: dict[str, _Asked] = {}
        self._place = np.zeros(len(self), np.int64)  # index among the literals of its kind
        for number in np.unique(self.kind).tolist():
            of_kind = np.flatnonzero(self.kind == number)
            self._place[of_kind] = np.arange(len(of_kind))
            self._asked[KINDS[number]] = self._ask(KINDS[number], [self.every[i] for i in of_kind], kinds)
        self._every = self._finders(np.arange(len(self)))

    def __len__(self) -> int:
        return len(self.every)

    def find(self, rows: Int64s, which: Int64s | None = None) -> Occurrences:
        """Return which of these sentences have each literal.

        A literal with an item that no sentence of the corpus has is found in none.

        Args:
            rows: the sentences, distinct.
            which: indices of the literals to look for, distinct; by default all.
        """
        finders = self._every if which is None else self._finders(which)
        n = len(self) if which is None else len(which)
        parts = [
            incidence(_side_by_side([(indices, find(selection)) for indices, find in finders], n), len(selection.rows))
            for first in range(0, max(len(rows), 1), _ROWS)
            for selection in [self._profiler.select(rows[first : first + _ROWS])]
        ]
        return occurrences(hstack(parts, "csr"))

    def patterns(self, kind: str) -> Sequences:
        """Return the literals of kind `word`, `tag` or `subtree` whose names the view has, as its codes."""
        asked = self._asked.get(kind)
        return asked.patterns.take(asked.known) if isinstance(asked, _Patterns) else Sequences.from_lists([])

    def _ask(self, kind: str, literals: list[Literal], kinds: Mapping[str, PatternKind]) -> "_Asked":
        view, items = self._profiler.view, [own.items for own in literals]
        if kind in ("word", "tag"):
            return _Patterns(_codes(items, view.word_names if kind == "word" else view.tag_names), kinds.get(kind))
        if kind == "subtree":
            labels = _codes(items, view.label_names)
            subtrees = Subtrees(labels.items, _depths([own.pattern for own in literals]), labels.offsets)
            return _Patterns(labels, kinds.get(kind), subtrees.extensions(max(len(view.label_names), 1)))
        if kind in ("mark", "word_class"):
            return _Words(_codes(items, view.word_names), len(view.word_names), kind == "mark")
        if kind == "length":
            return _Lengths(items)
        return _Values(items, (form_properties if kind == "form" else value_properties)(self._profiler))

    def _finders(self, which: Int64s) -> list[tuple[Int64s, _Find]]:
        """Return, for each kind, the positions in `which` of the kind's literals, and the function that finds them."""
        finders = []
        for kind, asked in self._asked.items():
            of_kind = np.flatnonzero(self.kind[which] == KINDS.index(kind))
            index = self._place[which[of_kind]]
            known = asked.known[index]
            if known.any():
                finders.append((of_kind[known], asked.finder(index[known])))
        return finders


class _Patterns:
    """Word, tag and subtree patterns.

    Args:
        codes: codes of the patterns' items, -1 for an item that no sentence has.
        kind: the kind, which finds the patterns; None if the sentences lack the required annotation.
        patterns: the patterns as `kind` represents them, if not by these codes.
    """

    def __init__(self, codes: Sequences, kind: PatternKind | None, patterns: Sequences | None = None) -> None:
        self.known = (codes.where(codes.items >= 0).lengths == codes.lengths) & (kind is not None)
        self.patterns, self._kind = codes if patterns is None else patterns, kind

    def finder(self, which: Int64s) -> _Find:
        assert self._kind is not None
        find = self._kind.finder(self.patterns.take(which))
        return lambda selection: find(selection.rows)


class _Words:
    """Sets of words: classes, or single punctuation marks. A sentence has a set if it contains any of the set's words.

    No two sets share a word.

    Args:
        codes: codes of each set's words, -1 for a word that no sentence has.
        words: the number of words.
        are_marks: whether the sets are punctuation marks and not words.
    """

    def __init__(self, codes: Sequences, words: int, are_marks: bool) -> None:
        self.known = np.ones(len(codes), bool)
        self._set_of = np.full(words, -1, np.int32)
        has = codes.items >= 0
        self._set_of[codes.items[has]] = np.repeat(np.arange(len(codes)), codes.lengths)[has]
        self._are_marks = are_marks

    def finder(self, which: Int64s) -> _Find:
        n = len(self.known)

        def find(selection: Selection) -> Occurrences:
            words, _, is_mark = selection.items
            sets = Sequences(np.where(is_mark == self._are_marks, self._set_of[words.items], -1), words.offsets)
            return occurrences_of(distinct_values(sets.where(sets.items >= 0), n), which, n)

        return find


class _Values:
    """Values of properties, and which sentences have a key of metadata: a property and its value, or only a key."""

    def __init__(self, items: Sequence[Sequence[str]], properties: Mapping[str, Property]) -> None:
        self._properties = properties
        self._property = np.array([own[0] for own in items], object)
        self._value = np.full(len(items), -1, np.int64)
        self._is_key = np.array([len(own) == 1 for own in items])
        for name, own in self._properties.items():
            here = np.flatnonzero((self._property == name) & ~self._is_key)
            self._value[here] = _codes([[items[i][1]] for i in here.tolist()], own.values).items
        self.known = (self._value >= 0) | (self._is_key & np.isin(self._property, list(self._properties)))

    def finder(self, which: Int64s) -> _Find:
        groups = {name: np.flatnonzero(self._property[which] == name) for name in dict.fromkeys(self._property[which])}

        def find(selection: Selection) -> Occurrences:
            parts = []
            for name, own in groups.items():
                of, is_key = self._properties[name], self._is_key[which[own]]
                codes = of.codes(selection)
                found = occurrences_of(codes, self._value[which[own[~is_key]]], len(of.values))
                parts.append((own[~is_key], found))
                having = np.flatnonzero(codes.lengths).astype(np.int32)
                parts += [
                    (own[[place]], Occurrences(having, np.array([0, len(having)]))) for place in np.flatnonzero(is_key)
                ]
            return _side_by_side(parts, len(which))

        return find


class _Lengths:
    """Upper bounds on the number of words of a sentence, including punctuation."""

    def __init__(self, items: Sequence[Sequence[str]]) -> None:
        self._most = np.array([int(n) for (n,) in items], np.int64)
        self.known = np.ones(len(items), bool)

    def finder(self, which: Int64s) -> _Find:
        def find(selection: Selection) -> Occurrences:
            found = [np.flatnonzero(selection.lengths <= most).astype(np.int32) for most in self._most[which]]
            return Occurrences(np.concatenate(found), np.cumsum([0, *map(len, found)], dtype=np.int64))

        return find


_Asked = _Patterns | _Words | _Values | _Lengths


def _codes(items: Sequence[Sequence[str]], names: Sequence[str]) -> Sequences:
    """Return the codes of items by their names, -1 for a name that is not among `names`."""
    lengths = [0, *map(len, items)]
    wanted = pa.array([name for own in items for name in own], pa.string()).dictionary_encode()
    every = names.array if isinstance(names, Names) else pa.array(names, pa.string())
    # There may be millions of names and few wanted ones, so the wanted ones are hashed.
    place = pc.index_in(every, value_set=wanted.dictionary.cast(every.type))
    code = np.full(len(wanted.dictionary), -1, np.int32)
    code[place.drop_null().to_numpy()] = np.flatnonzero(place.is_valid())
    return Sequences(code[wanted.indices.to_numpy()], np.cumsum(lengths, dtype=np.int64))


def _depths(brackets: list[str]) -> Int32s:
    """Return the depth of each node of subtrees that are given as text.

    >>> _depths(["(NP (NP) (PP (IN)))", "(S (VP))"]).tolist()
    [0, 1, 1, 2, 0, 1]
    """
    steps = np.array([1 if c == "(" else -1 for text in brackets for c in text if c in "()"], np.int64)
    return (np.cumsum(steps)[steps > 0] - 1).astype(np.int32)


def _side_by_side(parts: Sequence[tuple[Int64s, Occurrences]], n: int) -> Occurrences:
    """Combine parts into the occurrences of `n` literals.

    Each part consists of the indices of some literals and their occurrences. A literal in no part has no occurrences.
    """
    places = np.concatenate([np.zeros(0, np.int64), *(own for own, _ in parts)])
    found = Sequences.concatenate([Sequences(part.sentences, part.offsets) for _, part in parts])
    source = np.full(n, len(found), np.int64)
    source[places] = np.arange(len(places))
    if np.array_equal(source, np.arange(len(found))):
        return Occurrences(found.items, found.offsets)
    none = np.append(found.offsets, found.offsets[-1])
    chosen = Sequences(found.items, none).take(source)
    return Occurrences(chosen.items, chosen.offsets)
