"""The properties of sentences in a neuron's profile, defined in one place and counted over any rows."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ops.arrays import Bools, Int32s, Int64s, Integers
from ops.forms.clauses import Annotated, Clauses, Vocabulary
from ops.forms.forms import NAMES, NEED_TAGS, Forms
from ops.mine.value_counts import ValueCounts, count_in_sets, distinct_values
from ops.patterns.sequences import Sequences
from ops.penn import TAG_CLASSES, tag_class
from ops.reducers.integer_sums import Sums
from ops.sentences.mining_view import MiningView


class Selection:
    """Some of the sentences, `[sentences]`. Columns that several properties use are read only once.

    `class_of` is the class of each tag as an index into `TAG_CLASSES`, followed by -1, the class of `NO_TAG`.
    """

    def __init__(self, view: MiningView, rows: Int64s, class_of: Int32s, forms: Forms) -> None:
        self.view, self.rows, self._class_of, self._forms = view, rows, class_of, forms

    @cached_property
    def lengths(self) -> Int64s:
        """The number of words of each sentence, including punctuation."""
        return self.view.store.lengths(self.rows)

    @cached_property
    def tags(self) -> Sequences:
        """The tags of each sentence, including those of punctuation."""
        return self.view.store.tags(self.rows)

    @cached_property
    def tag_classes(self) -> Sequences:
        """The classes of `tags`."""
        return Sequences(self._class_of[self.tags.items], self.tags.offsets)

    def words_of(self, name: str) -> Sequences:
        """Return the words of one tag class, a name of `TAG_CLASSES`, in each sentence."""
        words, tags, is_mark = self.items
        return words.where(~is_mark & (self._class_of[tags.items] == TAG_CLASSES.index(name)))

    @property
    def marks(self) -> Sequences:
        """The punctuation marks of each sentence, as words."""
        words, _, is_mark = self.items
        return words.where(is_mark)

    def count_of(self, name: str) -> Int64s:
        """Return how many tags of one tag class each sentence has."""
        return self.tag_classes.where(self.tag_classes.items == TAG_CLASSES.index(name)).lengths

    @cached_property
    def items(self) -> tuple[Sequences, Sequences, Bools]:
        """The words and tags of each sentence, and which are punctuation marks, as `MiningView.items` returns them."""
        return self.view.items(self.rows)

    @cached_property
    def clauses(self) -> Clauses:
        """The sentences as `Forms.codes` reads them."""
        (_, tags, is_mark), forest = self.items, self.view.store.forest(self.rows)
        below_root = forest.offsets[:-1] + 1
        has_top, top = below_root < forest.offsets[1:], np.full(len(self.rows), -1, np.int32)
        top[has_top] = forest.label[below_root[has_top]]
        return self._forms.clauses(Annotated(self.view.store.words(self.rows), tags.items, is_mark, top))


@dataclass(frozen=True)
class Property:
    """A property of sentences, or of their tokens.

    Attributes:
        name: the property's name in `profiles/`.
        codes: a function that returns the values of each sentence as indices into `values`, each repeated as often as
            it counts.
        every_sentence: whether counts are out of all sentences, and not out of all values that the sentences have.
        is_feature: whether the values describe a sentence as a unit, so that they can be features of a set. Each value
            then occurs at most once in a sentence.
        rare_left_out: whether rare values are omitted from a profile.
        is_nuisance: whether the values say where a sentence comes from or how long it is, and not what it is about.
        is_form: whether it is one of `ops.forms.forms.NAMES`. These are no features, because they repeat what words,
            tags and marks already say, and naive Bayes adds up all evidence as if it were independent.
    """

    name: str
    values: Sequence[str]
    codes: Callable[[Selection], Sequences]
    every_sentence: bool = False
    is_feature: bool = True
    rare_left_out: bool = False
    is_nuisance: bool = False
    is_form: bool = False


def one_value(
    name: str, values: Sequence[str], codes: Callable[[Selection], Integers], rare_left_out: bool = False,
    is_nuisance: bool = False,
) -> Property:  # fmt: skip
    """Return a property with at most one value for each sentence; code -1 means none."""

    def sequences(selection: Selection) -> Sequences:
        return Sequences.at_most_one(codes(selection))

    return Property(name, values, sequences, rare_left_out=rare_left_out, is_nuisance=is_nuisance)


def values_within(name: str, values: Sequence[str], codes: Callable[[Selection], Sequences]) -> Property:
    """Return a property whose values are those that occur in a sentence, each counted once for the sentence."""

    def once(selection: Selection) -> Sequences:
        return distinct_values(codes(selection), len(values))

    return Property(name, values, once, every_sentence=True, rare_left_out=True)


class Profiler:
    """Counts the properties of sentences:

    - `dataset` and each metadata key: sentences, among those that have the key.
    - `words_per_sentence`: sentences, by length.
    - `tag` and `tag_class`: tokens.
    - `noun`, `verb`, `adjective` and `punctuation`: sentences that contain the word or mark.
    - the properties of `ops.forms.forms.Forms`: sentences that have the form.

    Args:
        nuisance: the metadata keys that are nuisance, as data set and length always are. All others are labels.

    Attributes:
        properties: all properties, in the order of every count.
        numbers: the numeric properties whose means are computed, by name.
    """

    def __init__(self, view: MiningView, nuisance: Container[str] = ()) -> None:
        self.view, self._nuisance = view, nuisance
        classes = [TAG_CLASSES.index(tag_class(tag)) for tag in view.tag_names]
        self._class_of = np.array([*classes, -1], np.int32)
        words, store = view.store.names["word"], view.store
        self._forms = Forms(Vocabulary(words, store.word_lower, store.lower_names, view.tag_names, view.label_names))
        self.properties = list(self._properties())
        self.numbers: dict[str, Callable[[Selection], Int64s]] = {"words_per_sentence": lambda s: s.lengths}
        if view.store.has["tags"]:
            self.numbers["verbs_per_sentence"] = lambda s: s.count_of("verb")
            self.numbers["nouns_per_sentence"] = lambda s: s.count_of("noun")

    def _properties(self) -> Iterator[Property]:
        """Yield all properties. One more entry here adds a property to profiles, baseline counts and held-out areas."""
        store = self.view.store
        of_sentences = [
            one_value("dataset", store.names["dataset"], lambda s: store.dataset[s.rows], is_nuisance=True),
            one_value(
                "words_per_sentence", [str(n) for n in range(store.longest + 1)], lambda s: s.lengths, is_nuisance=True
            ),
        ]
        of_tags = [
            Property("tag", self.view.tag_names, lambda s: s.tags, is_feature=False),
            Property("tag_class", TAG_CLASSES, lambda s: s.tag_classes, is_feature=False),
            *(
                values_within(name, self.view.word_names, partial(Selection.words_of, name=name))
                for name in ("noun", "verb", "adjective")
            ),
        ]
        # Punctuation marks are recognised without tags.
        marks = values_within("punctuation", self.view.word_names, lambda s: s.marks)
        yield from of_sentences
        if store.has["tags"]:
            yield from of_tags
        yield marks
        for name in NAMES:
            if store.has["tags"] or name not in NEED_TAGS:

                def of_form(selection: Selection, name: str = name) -> Sequences:
                    return self._forms.codes(name, selection.clauses)

                yield Property(
                    name, self._forms.values(name), of_form, every_sentence=True, is_feature=False, rare_left_out=True,
                    is_form=True,
                )  # fmt: skip
        taken = {known.name for known in (*of_sentences, *of_tags, marks)} | set(NAMES)
        for key, (values, codes) in store.meta.items():
            name = f"meta:{key}" if key in taken else key

            def of_rows(selection: Selection, codes: Int32s = codes) -> Int32s:
                return codes[selection.rows]

            yield one_value(name, values, of_rows, rare_left_out=True, is_nuisance=key in self._nuisance)

    def select(self, rows: Int64s) -> Selection:
        """Return a selection of the sentences, over which properties can be counted."""
        return Selection(self.view, rows, self._class_of, self._forms)

    def count(self, rows: Int64s) -> list[ValueCounts]:
        """Count every property over these rows as one set, in the order of `properties`."""
        selection = self.select(rows)
        every = Sequences.of_all(len(rows)), np.zeros(len(rows), bool), self.view.store.doc[rows]
        return [count_in_sets(p.codes(selection), *every, len(p.values), p.every_sentence) for p in self.properties]

    def sums(self, rows: Int64s) -> dict[str, Sums]:
        """Return the sums over these rows from which means are computed, by name.

        Sums of tags are omitted if the sentences have no tags.
        """
        selection = self.select(rows)
        return {name: Sums.of(number(selection)) for name, number in self.numbers.items()}
