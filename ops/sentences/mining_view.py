"""The sentences as the miners see them: words and tags, without punctuation unless asked, trees of labels and tags."""

import numpy as np
import numpy.typing as npt

from ops.patterns.forest import Forest, collapse_root
from ops.patterns.sequences import Sequences
from ops.penn import PUNCTUATION_TAGS
from ops.sentences.store import SentenceStore

Longs = npt.NDArray[np.int64]

NO_TAG = -1

# Without tags punctuation is known by the word alone: it has these marks and nothing else. Symbols such as % stay.
_MARKS = frozenset(".,:;!?'\"`()[]{}-_\u2010\u2011\u2012\u2013\u2014\u2015\u2018\u2019\u201c\u201d\u2026\u00ab\u00bb")


class MiningView:
    """A view of a sentence store under the options of mining.

    Args:
        store: the annotated sentences.
        word_case: `keep` the words as written, or `lower` to fold them.
        collapse_root: merge an S right under ROOT into it (Oba 2021 prints subtrees so).
        punctuation: `drop` it from the words and tags that are mined, or `keep` it.
    """

    def __init__(
        self, store: SentenceStore, word_case: str = "keep", collapse_root: bool = False, punctuation: str = "drop"
    ) -> None:
        self.store, self.collapse_root, self.keeps_marks = store, collapse_root, punctuation == "keep"
        words = store.names["word"]
        self.word_names, self._fold = words, None
        if word_case == "lower":
            folded = [word.lower() for word in words]
            self.word_names = sorted(set(folded))
            place = {word: code for code, word in enumerate(self.word_names)}
            self._fold = np.array([place[word] for word in folded], np.int32)
        self.tag_names, self.label_names = store.names["tag"], store.names["label"]
        self._tag_is_mark = np.array([*(tag in PUNCTUATION_TAGS for tag in self.tag_names), False], bool)
        self._word_is_mark = np.array([all(c in _MARKS for c in word) for word in words], bool)

    def words(self, rows: Longs) -> Sequences:
        """Return the words of these rows that are mined."""
        words, _, is_mark = self.items(rows)
        return words if self.keeps_marks else words.where(~is_mark)

    def items(self, rows: Longs) -> tuple[Sequences, Sequences, npt.NDArray[np.bool_]]:
        """Return words and tags of these rows item by item, and which are punctuation; `NO_TAG` where there is no tag.

        Punctuation is known by the words' tags, without any by the words alone.
        """
        words, found = self.store.words(rows), self.store.tags(rows)
        tagged = np.repeat(found.lengths == words.lengths, words.lengths)
        tags = np.full(words.items.size, NO_TAG, np.int32)
        tags[tagged] = found.take(found.lengths == words.lengths).items
        is_mark = np.where(tags == NO_TAG, self._word_is_mark[words.items], self._tag_is_mark[tags])
        if self._fold is not None:
            words = Sequences(self._fold[words.items], words.offsets)
        return words, Sequences(tags, words.offsets), is_mark

    def tags(self, rows: Longs) -> Sequences:
        """Return the tags of these rows that are mined."""
        tags = self.store.tags(rows)
        return tags if self.keeps_marks else tags.without(self._tag_is_mark)

    def forest(self, rows: Longs) -> Forest:
        """Return the trees of these rows, with S merged into ROOT where the option says so."""
        forest = self.store.forest(rows)
        return collapse_root(forest, self.label_names) if self.collapse_root else forest
