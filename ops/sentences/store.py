"""The annotated sentences as flat integer arrays on local disk, memory-mapped, so that many workers share one copy."""

import json
from functools import cached_property
from pathlib import Path

import numpy as np

from ops.arrays import Arrays, Bools, Int8s, Int32s, Int64s, places_among
from ops.patterns.forest import Forest
from ops.patterns.sequences import Sequences
from ops.sentences.build_copy import FACTS, FLAGS, LOWER, NAME_TYPES, map_flat, names_files
from ops.sentences.codes import LISTS, NAME_KINDS, meta_kinds
from ops.sentences.folds import HALF
from ops.sentences.names import Names
from ops.shards import spans

_BLOCK = 1 << 20  # sentences


class SentenceStore:
    """The data that mining needs of every sentence in `sentences/`, with one row per sentence in the order of ids.

    Attributes:
        sent_id: `[sentences]` int64, ascending.
        baseline, winner: whether each sentence is in the baseline, and is a winner, `[sentences]` bool each.
        fold: the fold of each sentence's document, `[sentences]` int8 from 0 to 9.
        wins: number of neurons and poles of which each sentence is a winner, `[sentences]` int32.
        doc, dataset: the codes of each sentence's document and dataset, `[sentences]` int32. Documents are numbered
            from 0 in the order of their hashes.
        documents: number of documents.
        names: the sorted names of each kind of code (`word`, `tag`, `label`, `dataset`).
        meta: for each metadata key its sorted values, and the sentences' codes, `[sentences]` int32, which are -1 if a
            sentence lacks the key.
        word_is_mark: whether a word is punctuation by itself, `[words]` bool.
        lower_names, word_lower: the sorted words in lower case, and the code of each word's lower-case form in this
            list, `[words]` int32.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        self.documents: int = facts["documents"]
        self.sent_id: Int64s = self._map("sent_id", np.int64)
        self.baseline, self.winner = (self._map(name, np.bool_) for name in FLAGS)
        self.fold: Int8s = self._map("fold", np.int8)
        self.wins: Int32s = self._map("wins", np.int32)
        self.doc, self.dataset = self._map("document", np.int32), self._map("dataset", np.int32)
        place = {kind: number for number, kind in enumerate(facts["kinds"])}
        self.names = {kind: self._names(place[kind]) for kind in NAME_KINDS}
        self.meta = {
            key: (self._names(place[kind]), self._map(f"meta_{i}", np.int32))
            for i, (key, kind) in enumerate(meta_kinds(place).items())
        }
        self.word_is_mark = self._map("word_is_mark", np.bool_)
        self.lower_names, self.word_lower = self._names(LOWER), self._map("word_lower", np.int32)
        # Plain arrays over the mapped files, because numba compiles a function again for every array type.
        ends = {name: np.asarray(self._map(f"{name}.ends", np.int64)) for name in LISTS}
        self._lists = {name: (np.asarray(self._map(name, np.int32)), ends[name]) for name in LISTS}
        self._lists["sizes"] = (np.asarray(self._map("sizes", np.int32)), ends["labels"])

    def rows(self, sent_ids: Int64s) -> Int64s:
        """Return the rows of the sentences with these ids.

        Raises:
            KeyError: one of the sentences is not in the store.
        """
        rows, are_there = places_among(self.sent_id, sent_ids)
        if not are_there.all():
            raise KeyError(f"sentence {int(sent_ids[~are_there][0])} is not in sentences/")
        return rows

    def words(self, rows: Int64s) -> Sequences:
        """Return the words of these rows as codes."""
        return self._take("words", rows)

    def tags(self, rows: Int64s) -> Sequences:
        """Return the tags of these rows as codes; a sentence that was not tagged has an empty list."""
        return self._take("tags", rows)

    def forest(self, rows: Int64s) -> Forest:
        """Return the trees of these rows, including ROOT; a sentence that was not parsed has an empty tree."""
        labels = self._take("labels", rows)
        return Forest(labels.items, self._take("sizes", rows).items, labels.offsets)

    def lengths(self, rows: Int64s) -> Int64s:
        """Return the number of words of each of these rows."""
        offsets = self._lists["words"][1]
        return np.asarray(offsets[rows + 1] - offsets[rows])

    @cached_property
    def longest(self) -> int:
        """The number of words of the longest sentence."""
        ends = self._lists["words"][1]
        blocks = (np.diff(ends[first : stop + 1]) for first, stop in spans(len(ends) - 1, _BLOCK))
        return max((int(block.max()) for block in blocks), default=0)

    @property
    def held_out(self) -> Bools:
        """Whether each sentence belongs to a document of folds 5 to 9, `[sentences]` bool."""
        return np.asarray(self.fold >= HALF)

    @property
    def has(self) -> dict[str, bool]:
        """Whether any sentence has words, tags and labels, as a mapping from column to bool."""
        return {name: len(self._lists[name][0]) > 0 for name in LISTS}

    def _take(self, name: str, rows: Int64s) -> Sequences:
        return Sequences(*self._lists[name]).take(rows)

    def _map(self, name: str, kind: type[np.generic]) -> Arrays:
        return map_flat(self._folder / name, kind)

    def _names(self, number: int | str) -> Names:
        ends, text = (self._map(*own) for own in zip(names_files(number), NAME_TYPES, strict=True))
        return Names(ends, text)
