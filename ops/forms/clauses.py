"""Annotated sentences, and forms that depend on the order of words: question, quotation, imperative, passive, tense."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.forms.word_facts import WordFacts
from ops.patterns.sequences import Sequences
from ops.sentences.names import Names

TENSES = ("past", "present", "future", "modal")
_TENSES_OF_TAGS = {"past": ("VBD",), "present": ("VBP", "VBZ"), "modal": ("MD",)}
_VERBS = ("MD", "TO", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
_ADVERBS = ("RB", "RBR", "UH")
_BREAKS = (".", ":", "``", "-LRB-", "-RRB-")  # a clause may begin after these
_SUBORDINATE = ("IN", "WRB", "TO", "VBG", "VBN")  # a clause that begins with these may come before its main clause
_QUESTIONS = ("SBARQ", "SQ")


class Vocabulary(NamedTuple):
    """The names of the codes of a corpus.

    Attributes:
        words: the distinct words as written.
        lower: the code of each word's lower-case form, `[words]`.
        lower_words: the distinct words in lower case.
        tags, labels: the names of the tags, and of the nodes of trees.
    """

    words: Names
    lower: Int32s
    lower_words: Names
    tags: Sequence[str]
    labels: Sequence[str]


@dataclass(frozen=True)
class Annotated:
    """Some annotated sentences as codes.

    Attributes:
        words: the words of each sentence as written, including punctuation.
        tags: the tag of each word, -1 for none, `[items]`.
        is_mark: whether each word is punctuation, `[items]`.
        top: the label of the first node below the root of each sentence's tree, -1 for none, `[sentences]`.
    """

    words: Sequences
    tags: Int32s
    is_mark: Bools
    top: Int32s


class Clauses:
    """Finds forms in annotated sentences. Masks of words are `[items]` bool, those of sentences `[sentences]` bool.

    Args:
        text: the sentences.
        facts: facts about the words of the vocabulary.
        vocabulary: the names of codes.
    """

    def __init__(self, text: Annotated, facts: WordFacts, vocabulary: Vocabulary) -> None:
        self.text, self._facts, self._vocabulary = text, facts, vocabulary
        self.sentence = np.repeat(np.arange(len(text.words)), text.words.lengths)  # of each word
        self._start = text.words.offsets[self.sentence]
        self._place = np.arange(len(self._start))

    def are(self, name: str) -> Bools:
        """Return which words have a fact of `WordFacts`, given its name."""
        return self._facts.are(name)[self.text.words.items]

    def with_any(self, marked: Bools) -> Bools:
        """Return which sentences have a marked word."""
        return self._having(np.flatnonzero(marked))

    def _having(self, places: Int64s) -> Bools:
        """Return which sentences have one of these words."""
        return np.asarray(np.bincount(self.sentence[places], minlength=len(self.text.words)) > 0)

    def questions(self) -> Bools:
        """Return which sentences end with a question mark, or are questions by their trees.

        Other marks, symbols, @names, #tags and URLs may follow the mark.
        """
        labels = np.array([*(label in _QUESTIONS for label in self._vocabulary.labels), False])
        mark = self.are("question mark") & (self._place > self.last(self._are_plain)[self.sentence])
        return np.asarray(self.with_any(mark) | labels[self.text.top])

    def quotations(self) -> Bools:
        """Return which sentences have quotation marks with a word between them.

        One double mark at the start or the end of a sentence is enough, since the sentences of a quotation are split.
        A mark after a number is one of inches.
        """
        plain, is_measure = self._are_plain, self._previous(self.are("number"))
        double = (self.are("double quote") | self.are("closing quotes")) & ~is_measure
        single = self.are("single quote") & self.tagged(("``", "''"))
        quoted = np.zeros(len(self.text.words), bool)
        for marks in (double, single):
            within = (self._place > self.first(marks)[self.sentence]) & (self._place < self.last(marks)[self.sentence])
            quoted |= self.with_any(plain & within)
        first, last = self.first(plain), self.last(plain)
        at_end = (self._place < first[self.sentence]) | (self._place > last[self.sentence])
        is_end = double & (at_end | self.are("closing quotes"))
        return quoted | (self.with_any(is_end) & (last >= 0))

    def imperatives(self) -> Bools:
        """Return which sentences have a clause that begins with the base form of a verb.

        Before it there may be adverbs, interjections and @names (*please*, *never*) and, up to a comma, a phrase
        without a verb (*Tom*) or a subordinate clause (*if you can*).
        """
        base = self.tagged(("VB",)) | (self.tagged(("VBP",)) & self.are("do") & self._next(self.are("not")))
        at, breaks, commas = np.flatnonzero(base), self.tagged(_BREAKS), self.tagged((",",))
        head = self._nearest(~(self.tagged(_ADVERBS) | self.are("@name")))
        last_break = self._nearest(breaks)
        start = np.where(last_break < 0, self._start, last_break + 1)  # of the clause

        def is_start(word: Int64s) -> Bools:
            return (word < 0) | breaks[word]

        previous, begin = head[at], start[at]
        no_verb = _between(self.tagged(_VERBS), begin, previous) == 0
        one_clause = self.tagged(_SUBORDINATE)[begin] & (_between(commas, begin, previous) == 0)
        follows_lead = commas[previous] & (no_verb | one_clause)
        follows_and = self.tagged(("CC",))[previous] & is_start(head[previous])
        is_imperative = is_start(previous) | follows_lead | follows_and
        return self._having(at[is_imperative])

    def passives(self) -> Bools:
        """Return which sentences have a form of *be* or *get* with a past participle.

        Adverbs may stand between them, and in questions the subject.
        """
        at, verbs = np.flatnonzero(self.tagged(("VBN",))), self.tagged(_VERBS)
        be = self.are("be") & verbs & ~self._next(self.tagged(("EX",)))
        head, verb = self._nearest(~self.tagged(_ADVERBS))[at], self._nearest(verbs)[at]
        may_ask = be & (self._previous(self.tagged(("WRB", "WP", "WDT"))) | (self._place == self._start))
        asks = self.questions()[self.sentence[at]] & (verb >= 0) & may_ask[verb]
        active = self.are("active")[at]
        follows = (head >= 0) & be[head] & ~(active & self.are("clitic")[head])
        return self._having(at[(follows | asks) & ~self.are("gone")[at]])

    def tenses(self) -> Int64s:
        """Return the tense of each sentence's first verb as an index into `TENSES`, `[sentences]`; -1 for none.

        Participles and infinitives with *to* are skipped; a verb in its base form has no tense.
        """
        tense = np.full(len(self._place), -1)
        for name, tags in _TENSES_OF_TAGS.items():
            tense[self.tagged(tags)] = TENSES.index(name)
        tense[self.tagged(("MD",)) & self.are("will")] = TENSES.index("future")
        head = self._nearest(~self.tagged(_ADVERBS))
        is_infinitive = (head >= 0) & self.tagged(("TO",))[head]
        first = self.first((tense >= 0) | (self.tagged(("VB",)) & ~is_infinitive))
        return np.where(first >= 0, tense[first], -1) if len(tense) else first

    @cached_property
    def follow_hash(self) -> Bools:
        """Which words follow a # that the tokenizer split off, `[items]`."""
        return self._previous(self.are("hash")) & self.are("letter first") & ~self.are("URL")

    @cached_property
    def _are_plain(self) -> Bools:
        """Which words have a letter or digit and are no @names, #tags or URLs, `[items]`."""
        return self._facts.are_plain[self.text.words.items] & ~self.follow_hash

    def tagged(self, names: Iterable[str]) -> Bools:
        """Return which words have one of these tags."""
        wanted = set(names)
        return np.array([*(tag in wanted for tag in self._vocabulary.tags), False])[self.text.tags]

    def _nearest(self, marked: Bools) -> Int64s:
        """Return the place of the nearest marked word before each word in its sentence, -1 for none, `[items]`."""
        latest = np.maximum.accumulate(np.where(marked, self._place, -1))
        before = np.concatenate(([-1], latest[:-1]))[: len(latest)]
        return np.where(before >= self._start, before, -1)

    def _previous(self, marked: Bools) -> Bools:
        """Return whether the word before each word, in its sentence, is marked, `[items]`."""
        return np.concatenate(([False], marked[:-1]))[: len(marked)] & (self._place > self._start)

    def _next(self, marked: Bools) -> Bools:
        """Return whether the word after each word, in its sentence, is marked, `[items]`."""
        is_first = self._place == self._start
        return np.concatenate(((marked & ~is_first)[1:], [False]))[: len(marked)]

    def first(self, marked: Bools) -> Int64s:
        """Return the place of each sentence's first marked word, -1 for none, `[sentences]`."""
        places = np.flatnonzero(marked)[::-1]
        found = np.full(len(self.text.words), -1)
        found[self.sentence[places]] = places  # of several, the last one stays
        return found

    def last(self, marked: Bools) -> Int64s:
        """Return the place of each sentence's last marked word, -1 for none, `[sentences]`."""
        places = np.flatnonzero(marked)
        found = np.full(len(self.text.words), -1)
        found[self.sentence[places]] = places
        return found


def _between(marked: Bools, start: Int64s, stop: Int64s) -> Int64s:
    """Return how many words from `start` up to but excluding `stop` are marked; 0 if `stop` is not after `start`."""
    counts = np.concatenate(([0], np.cumsum(marked)))
    return np.asarray(counts[np.maximum(stop, start)] - counts[start])
