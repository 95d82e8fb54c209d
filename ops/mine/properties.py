"""The properties of sentences that a neuron's profile is made of: one table of them, counted over any rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from ops.mine.value_counts import ValueCounts, count_sentences, count_tokens, count_values
from ops.patterns.sequences import Sequences
from ops.penn import TAG_CLASSES, tag_class
from ops.reducers.integer_sums import Sums
from ops.sentences.mining_view import MiningView

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
MAX_VALUES = 200


class Selection:
    """Some rows of the sentences, `[sentences]`; what several properties look at is read once.

    Args:
        view: all sentences, as mining sees them.
        rows: which of them.
        class_of: each tag's class as its place in `TAG_CLASSES`, and last -1, the class of `NO_TAG`.
    """

    def __init__(self, view: MiningView, rows: Longs, class_of: npt.NDArray[np.int32]) -> None:
        self.view, self.rows, self._class_of = view, rows, class_of

    def take(self, column: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the sentences' entries of a column of all rows."""
        return column[self.rows]

    @cached_property
    def lengths(self) -> Longs:
        """Words of each sentence, counted with punctuation."""
        return self.view.store.lengths(self.rows)

    @cached_property
    def tags(self) -> Sequences:
        """Tags of each sentence, those of punctuation too."""
        return self.view.store.tags(self.rows)

    @cached_property
    def tag_classes(self) -> Sequences:
        """The classes of `tags`."""
        return Sequences(self._class_of[self.tags.items], self.tags.offsets)

    def words_of(self, name: str) -> Sequences:
        """Return the words of one tag class, a name of `TAG_CLASSES`, in each sentence."""
        words, tags = self._words_and_tags
        return words.where(self._class_of[tags.items] == TAG_CLASSES.index(name))

    def count_of(self, name: str) -> Longs:
        """Return how many tags of one tag class each sentence has."""
        return self.tag_classes.where(self.tag_classes.items == TAG_CLASSES.index(name)).lengths

    @cached_property
    def _words_and_tags(self) -> tuple[Sequences, Sequences]:
        return self.view.words_and_tags(self.rows)


@dataclass(frozen=True)
class Property(ABC):
    """A property: its name, the names of its values, and whether rare values are left out of a profile."""

    name: str
    values: list[str]
    rare_left_out: bool = field(default=False, kw_only=True)

    @abstractmethod
    def count(self, selection: Selection) -> ValueCounts:
        """Count what has each value, out of what could have one."""


class Feature(Property):
    """A property whose values describe a sentence as a whole, so that it can be weighed by them."""

    @abstractmethod
    def weigh(self, selection: Selection, weights: Floats) -> Floats:
        """Return, for each sentence, the sum of the weights `[values]` of the values it has, `[sentences]`."""


@dataclass(frozen=True)
class SentenceProperty(Feature):
    """Each sentence has one value; `codes` gives its place in `values`, -1 for none. Counts sentences that have one."""

    codes: Callable[[Selection], npt.NDArray[np.integer]]

    def count(self, selection: Selection) -> ValueCounts:
        """See `Property`."""
        return count_values(self.codes(selection), len(self.values))

    def weigh(self, selection: Selection, weights: Floats) -> Floats:
        """See `Feature`."""
        codes = self.codes(selection)
        return np.where(codes >= 0, weights[codes], 0.0)


@dataclass(frozen=True)
class WordProperty(Feature):
    """A sentence has every value that occurs in it, once; `words` gives them as codes. Counts all sentences."""

    words: Callable[[Selection], Sequences]

    def count(self, selection: Selection) -> ValueCounts:
        """See `Property`."""
        return count_sentences(self.words(selection), len(self.values))

    def weigh(self, selection: Selection, weights: Floats) -> Floats:
        """See `Feature`."""
        words = self.words(selection)
        owner = np.repeat(np.arange(len(words)), words.lengths)
        weighed = weights[words.items] != 0
        # A word counts once, however often the sentence has it.
        pairs = np.unique(owner[weighed] * len(weights) + words.items[weighed])
        owner, word = np.divmod(pairs, len(weights))
        return np.asarray(np.bincount(owner, weights[word], minlength=len(words)), np.float64)


@dataclass(frozen=True)
class TokenProperty(Property):
    """Each token has one value, `tokens` as codes. Counts all tokens, so it describes no sentence."""

    tokens: Callable[[Selection], Sequences]

    def count(self, selection: Selection) -> ValueCounts:
        """See `Property`."""
        return count_tokens(self.tokens(selection), len(self.values))


class Profiler:
    """Counts the properties of sentences.

    `dataset` and each meta key count sentences among those that have the key, `words_per_sentence` sentences by length,
    `tag` and `tag_class` tokens, `noun`, `verb` and `adjective` sentences that contain the word.

    Args:
        view: the sentences, as mining sees them.

    Attributes:
        properties: all of them, in the order in which every count has them.
        numbers: what each sentence has a number of, by name, for the means.
    """

    def __init__(self, view: MiningView) -> None:
        self.view = view
        classes = [TAG_CLASSES.index(tag_class(tag)) for tag in view.store.names["tag"]]
        self._class_of = np.array([*classes, -1], np.int32)
        self.properties = list(self._properties())
        self.numbers: dict[str, Callable[[Selection], Longs]] = {"words_per_sentence": lambda s: s.lengths}
        if view.store.has["tags"]:
            self.numbers["verbs_per_sentence"] = lambda s: s.count_of("verb")
            self.numbers["nouns_per_sentence"] = lambda s: s.count_of("noun")

    def _properties(self) -> Iterator[Property]:
        """Return the table of properties: one more entry here is a new one, in profiles, baseline and areas alike."""
        store = self.view.store
        longest = int(self.select(np.arange(len(store.sent_id))).lengths.max(initial=0))
        of_sentences = [
            SentenceProperty("dataset", store.names["dataset"], partial(Selection.take, column=store.dataset)),
            SentenceProperty("words_per_sentence", [str(n) for n in range(longest + 1)], lambda s: s.lengths),
        ]
        of_tags = [
            TokenProperty("tag", store.names["tag"], lambda s: s.tags),
            TokenProperty("tag_class", list(TAG_CLASSES), lambda s: s.tag_classes),
            *(
                WordProperty(name, self.view.word_names, partial(Selection.words_of, name=name), rare_left_out=True)
                for name in ("noun", "verb", "adjective")
            ),
        ]
        yield from of_sentences
        if store.has["tags"]:
            yield from of_tags
        taken = {own.name for own in (*of_sentences, *of_tags)}
        for key, (values, codes) in store.meta.items():
            name = f"meta:{key}" if key in taken else key
            yield SentenceProperty(name, values, partial(Selection.take, column=codes), rare_left_out=True)

    def select(self, rows: Longs) -> Selection:
        """Return some rows of the sentences, as the properties look at them."""
        return Selection(self.view, rows, self._class_of)

    def count(self, rows: Longs) -> list[ValueCounts]:
        """Count every property over these rows, in the order of `properties`."""
        selection = self.select(rows)
        return [counted.count(selection) for counted in self.properties]

    def count_winners(
        self, rows: Longs, in_baseline: npt.NDArray[np.bool_]
    ) -> tuple[list[ValueCounts], list[ValueCounts]]:
        """Count over a set of sentences, and over those of them that the baseline has."""
        counts = self.count(rows)
        return counts, counts if in_baseline.all() else self.count(rows[in_baseline])

    def sums(self, rows: Longs) -> dict[str, Sums]:
        """Return the sums that the means are made of over these rows, those of tags only where there are any."""
        selection = self.select(rows)
        return {name: Sums.of(number(selection)) for name, number in self.numbers.items()}
