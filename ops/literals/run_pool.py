"""The pool of literals of a run, its hubs and facts about its words, as tables that are stored between steps."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ops.literals.hubs import Hubs
from ops.literals.like_words import LikeWords
from ops.literals.pool import united
from ops.literals.sentence_literals import form_literals, length_literals, value_literals
from ops.literals.word_keys import count_frequent
from ops.mine.mining import Mining
from ops.mine.properties import Profiler
from ops.model.names import ModelFacts
from ops.patterns.sequences import Sequences
from ops.storage.arrays import read_arrays, write_arrays


@dataclass(frozen=True)
class WordStatistics:
    """What is known about the words of a run's sentences.

    Attributes:
        frequent: number of words and pairs of neighbours that at least four documents of all sentences contain.
        like: which words are alike.
    """

    frequent: int
    like: LikeWords


def make_pool(
    listed: Iterable[pa.Table], mining: Mining, facts: ModelFacts, seed: int
) -> tuple[pa.Table, WordStatistics]:
    """Return all literals of a run, and what is known about its words.

    The literals are those that its neurons list, classes of words, forms, lengths, data sets and metadata. With
    random weights, no words are alike.

    Args:
        listed: the results of `count_listed` for disjoint groups of neuron-poles.
        mining: the annotated sentences, with words in lower case.
        facts: the model, whose token table is clustered into classes of words.
        seed: the seed of that clustering and of the samples of words.
    """
    # Only the worker that makes the pool imports what classes need: the model, and scikit-learn.
    from ops.literals.word_classes import corpus_words, token_vectors, topic_literals

    baseline = np.flatnonzero(mining.sentences.baseline)
    words = corpus_words(mining.text, baseline)
    vectors = token_vectors(words.spellings, facts)
    topics = topic_literals(words, vectors, seed)
    profiler = Profiler(mining.text, mining.options["nuisance"])
    further = [topics, form_literals(profiler), length_literals(mining.sentences), value_literals(profiler)]
    like = LikeWords.none()
    if facts.seed is None and vectors.shape[1]:
        like = LikeWords.of(words.words, vectors, mining.text.word_names, seed)
    frequent = count_frequent(mining.text, seed)
    return pa.concat_tables([united(listed), *further]), WordStatistics(frequent, like)


def word_statistics_table(words: WordStatistics) -> pa.Table:
    """Return what is known about words as a table; `read_word_statistics` reads it."""
    return write_arrays(frequent=words.frequent, **vars(words.like))


def read_word_statistics(table: pa.Table) -> WordStatistics:
    """Return what `word_statistics_table` stored."""
    own = read_arrays(table)
    return WordStatistics(int(own["frequent"]), LikeWords(own["codes"], own["directions"], float(own["least"])))


def hubs_table(hubs: Hubs) -> pa.Table:
    """Return hubs as a table; `read_hubs` reads it."""
    return write_arrays(rows=hubs.rows, wins=hubs.wins, most=hubs.most, **vars(hubs.won))


def read_hubs(table: pa.Table) -> Hubs:
    """Return the hubs that `hubs_table` stored."""
    own = read_arrays(table)
    return Hubs(own["rows"], own["wins"], Sequences(own["items"], own["offsets"]), float(own["most"]))
