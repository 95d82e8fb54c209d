"""The forms of sentences as properties: their names, their values, and which sentences have them."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ops.arrays import Bools, Int64s, Integers
from ops.forms.affixes import Affixes, productive_prefixes, productive_suffixes
from ops.forms.clauses import TENSES, Annotated, Clauses, Vocabulary
from ops.forms.word_facts import PRONOUNS, SHAPES, WordFacts
from ops.patterns.sequences import Sequences

FORMS = ("negation", "question", "imperative", "passive", "quotation")
NAMES = ("form", "first_word", "last_word", "pronoun", "tense", "prefix", "suffix", "shape")
NEED_TAGS = ("pronoun", "tense")


class Forms:
    """The forms of the sentences of a corpus. A sentence has each value at most once.

    - `form`: negation (*not*, *n't*, *never*, *no*, *nobody*, *nothing*, *neither*, *nor*, *without*, *hardly*),
      question, imperative, passive and quotation. Without tags no sentence is imperative or passive.
    - `first_word`, `last_word`: in lower case, without punctuation.
    - `pronoun`: the person and number of personal, possessive and reflexive pronouns.
    - `tense`: of the first verb.
    - `prefix`, `suffix`: those that the corpus makes productive, as `ops.forms.affixes` defines them.
    - `shape`: how words are written.

    Args:
        vocabulary: the names of codes of the corpus.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary, self._facts = vocabulary, WordFacts(vocabulary.words.array)

    def values(self, name: str) -> Sequence[str]:
        """Return the names of the values of a property, one of `NAMES`."""
        if name in ("first_word", "last_word"):
            return self._vocabulary.lower_words
        if name in ("prefix", "suffix"):
            return self._affixes[name].names
        return {"form": FORMS, "pronoun": tuple(PRONOUNS), "tense": TENSES, "shape": SHAPES}[name]

    def clauses(self, text: Annotated) -> Clauses:
        """Return the annotated sentences in which `codes` finds forms."""
        return Clauses(text, self._facts, self._vocabulary)

    def codes(self, name: str, clauses: Clauses) -> Sequences:
        """Return the values of a property that each sentence has, as indices into its `values`."""
        words, sentence, n = clauses.text.words.items, clauses.sentence, len(clauses.text.words)
        if name == "form":
            negated = clauses.with_any(clauses.are("negation"))
            others = clauses.questions(), clauses.imperatives(), clauses.passives(), clauses.quotations()
            return _marked(np.stack([negated, *others], axis=1))
        if name == "tense":
            return Sequences.at_most_one(clauses.tenses())
        if name in ("first_word", "last_word"):
            index = (clauses.first if name == "first_word" else clauses.last)(~clauses.text.is_mark)
            lower = self._vocabulary.lower[words[index]] if len(words) else index
            return Sequences.at_most_one(np.where(index >= 0, lower, -1))
        if name == "pronoun":
            return _some(self._facts.pronoun[words], clauses.tagged(("PRP", "PRP$")), sentence, (n, len(PRONOUNS)))
        if name == "shape":
            bits = np.where(clauses.follow_hash, 1 << SHAPES.index("#tag"), self._facts.shapes[words])
            of_shapes = [clauses.with_any(bits & 1 << i > 0) for i in range(len(SHAPES))]
            return _marked(np.stack(of_shapes, axis=1))
        affixes = self._affixes[name]
        return _some(
            affixes.of_word[self._vocabulary.lower[words]], ~clauses.text.is_mark, sentence, (n, len(affixes.names))
        )

    @cached_property
    def _affixes(self) -> dict[str, Affixes]:
        words = self._vocabulary.lower_words.array
        return {"prefix": productive_prefixes(words), "suffix": productive_suffixes(words)}


def _marked(has: Bools) -> Sequences:
    """Return the values that each sentence has, given `has [sentences, values]`."""
    offsets = np.concatenate(([0], np.cumsum(np.count_nonzero(has, axis=1), dtype=np.int64)))
    return Sequences(np.nonzero(has)[1].astype(np.int32), offsets)


def _some(codes: Integers, counted: Bools, sentence: Int64s, shape: tuple[int, int]) -> Sequences:
    """Return the distinct codes of each sentence's counted words, -1 for none, as sequences."""
    kept = counted & (codes >= 0)
    has = np.zeros(shape, bool)
    has[sentence[kept], codes[kept]] = True
    return _marked(has)
