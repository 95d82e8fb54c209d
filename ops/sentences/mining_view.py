"""The sentences as the miners read them: words, tags and trees, by default without punctuation."""

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.patterns.forest import Forest, collapse_root
from ops.patterns.sequences import Sequences
from ops.penn import PUNCTUATION_TAGS
from ops.sentences.names import Names
from ops.sentences.store import SentenceStore

NO_TAG = -1


class MiningView:
    """A view of a sentence store under the options of mining.

    Args:
        store: the annotated sentences.
        word_case: `keep` leaves the words as written; `lower` converts them to lower case.
        collapse_root: whether to merge an S directly under ROOT into ROOT, as subtrees are printed in Oba 2021.
        punctuation: `drop` or `keep` punctuation in the words and tags that are mined.
    """

    def __init__(
        self, store: SentenceStore, word_case: str = "keep", collapse_root: bool = False, punctuation: str = "drop"
    ) -> None:
        self.store, self.collapse_root, self.keeps_marks = store, collapse_root, punctuation == "keep"
        self.word_names: Names = store.names["word"]
        self._fold: Int32s | None = None
        if word_case == "lower":
            self.word_names, self._fold = store.lower_names, store.word_lower
        # These lists are short and read often.
        self.tag_names, self.label_names = list(store.names["tag"]), list(store.names["label"])
        self._tag_is_mark = np.array([*(tag in PUNCTUATION_TAGS for tag in self.tag_names), False], bool)
        self._word_is_mark = store.word_is_mark

    def words(self, rows: Int64s) -> Sequences:
        """Return the words of these rows that are mined, without punctuation unless it is kept."""
        words, _, is_mark = self.items(rows)
        return words if self.keeps_marks else words.where(~is_mark)

    def items(self, rows: Int64s) -> tuple[Sequences, Sequences, Bools]:
        """Return the words and tags of these rows, item by item, and which items are punctuation.

        A word without a tag has `NO_TAG`. Punctuation is recognised by the tags, or by the words if there are no tags.
        """
        words, found = self.store.words(rows), self.store.tags(rows)
        tagged = np.repeat(found.lengths == words.lengths, words.lengths)
        tags = np.full(words.items.size, NO_TAG, np.int32)
        tags[tagged] = found.take(found.lengths == words.lengths).items
        is_mark = np.where(tags == NO_TAG, self._word_is_mark[words.items], self._tag_is_mark[tags])
        if self._fold is not None:
            words = Sequences(self._fold[words.items], words.offsets)
        return words, Sequences(tags, words.offsets), is_mark

    def tags(self, rows: Int64s) -> Sequences:
        """Return the tags of these rows that are mined, without punctuation unless it is kept."""
        tags = self.store.tags(rows)
        return tags if self.keeps_marks else tags.where(~self._tag_is_mark[tags.items])

    def forest(self, rows: Int64s) -> Forest:
        """Return the trees of these rows, with S merged into ROOT if `collapse_root` is set."""
        forest = self.store.forest(rows)
        return collapse_root(forest, self.label_names) if self.collapse_root else forest
