"""The properties of sentences that a neuron's profile is made of, counted over any rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ops.mine.value_counts import ValueCounts, count_sentences, count_tokens, count_values
from ops.patterns.sequences import Sequences
from ops.penn import TAG_CLASSES, tag_class
from ops.reducers.integer_sums import Sums
from ops.sentences.mining_view import MiningView

Longs = npt.NDArray[np.int64]
MAX_VALUES = 200
COUNTED_WORDS = ("noun", "verb", "adjective")
NUMBERS = ("words_per_sentence", "verbs_per_sentence", "nouns_per_sentence")


@dataclass(frozen=True)
class Property:
    """One property: its name, the names of its values, and whether rare values are left out of a profile."""

    name: str
    values: list[str]
    cut: bool


class Profiler:
    """Counts the properties of sentences.

    `dataset` and each meta key count sentences among those that have the key, `words_per_sentence` sentences by length,
    `tag` and `tag_class` tokens, `noun`, `verb` and `adjective` sentences that contain the word.

    Args:
        text: the sentences.
    """

    def __init__(self, text: MiningView) -> None:
        self.text, self.store = text, text.store
        every = np.arange(len(self.store.sent_id))
        self._longest = int(self.store.lengths(every).max(initial=0))
        # The last one is the class of `NO_TAG`: none.
        self._classes = np.array([*(TAG_CLASSES.index(tag_class(t)) for t in self.store.names["tag"]), -1], np.int32)
        self.tagged = self.store.has["tags"]
        self.properties = list(self._properties())

    def _properties(self) -> Iterator[Property]:
        yield Property("dataset", self.store.names["dataset"], False)
        yield Property("words_per_sentence", [str(n) for n in range(self._longest + 1)], False)
        if self.tagged:
            yield Property("tag", self.store.names["tag"], False)
            yield Property("tag_class", list(TAG_CLASSES), False)
            for name in COUNTED_WORDS:
                yield Property(name, self.text.word_names, True)
        own = {"dataset", "words_per_sentence", "tag", "tag_class", *COUNTED_WORDS}
        for key, (values, _) in self.store.meta.items():
            yield Property(f"meta:{key}" if key in own else key, values, True)

    def count(self, rows: Longs) -> list[ValueCounts]:
        """Count every property over these rows, in the order of `properties`."""
        counts = [
            count_values(self.store.dataset[rows], len(self.store.names["dataset"])),
            count_values(self.store.lengths(rows), self._longest + 1),
        ]
        if self.tagged:
            tags = self.store.tags(rows)
            counts.append(count_tokens(tags, len(self.store.names["tag"])))
            counts.append(count_tokens(Sequences(self._classes[tags.items], tags.offsets), len(TAG_CLASSES)))
            for name in COUNTED_WORDS:
                own = self.words_of_class(rows, TAG_CLASSES.index(name))
                counts.append(count_sentences(own, len(self.text.word_names)))
        counts += [count_values(codes[rows], len(values)) for values, codes in self.store.meta.values()]
        return counts

    def count_winners(
        self, rows: Longs, in_baseline: npt.NDArray[np.bool_]
    ) -> tuple[list[ValueCounts], list[ValueCounts]]:
        """Count over a set of sentences, and over those of them that the baseline holds."""
        counts = self.count(rows)
        return counts, counts if in_baseline.all() else self.count(rows[in_baseline])

    def words_of_class(self, rows: Longs, of: int) -> Sequences:
        """Return the words of one tag class (its place in `TAG_CLASSES`) of these rows."""
        words, tags = self.text.words_and_tags(rows)
        return words.where(self._classes[tags.items] == of)

    def sums(self, rows: Longs) -> dict[str, Sums]:
        """Return the sums that the means are made of over these rows, those of tags only where there are any."""
        found = {"words_per_sentence": Sums.of(self.store.lengths(rows))}
        if self.tagged:
            tags = self.store.tags(rows)
            for name, of in (("verbs_per_sentence", "verb"), ("nouns_per_sentence", "noun")):
                mine = self._classes[tags.items] == TAG_CLASSES.index(of)
                found[name] = Sums.of(Sequences(tags.items, tags.offsets).where(mine).lengths)
        return found
