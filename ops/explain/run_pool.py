"""The pool of literals of a run, and its hubs, as tables that are stored between steps."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from ops.explain.hubs import Hubs
from ops.explain.pool import united
from ops.explain.sentence_literals import form_literals, length_literals, value_literals
from ops.mine.mining import Mining
from ops.mine.properties import Profiler
from ops.model.facts import ModelFacts
from ops.patterns.sequences import Sequences
from ops.storage.arrays import read_arrays, write_arrays


def make_pool(listed: Iterable[pa.Table], mining: Mining, facts: ModelFacts, seed: int) -> pa.Table:
    """Return all literals of a run: those its neurons list, classes of words, forms, lengths, data sets and metadata.

    Args:
        listed: the results of `count_listed` for disjoint groups of neuron-poles.
        mining: the annotated sentences, with words in lower case.
        facts: the model, whose token table is clustered into classes of words.
        seed: the seed of that clustering.
    """
    # Only the worker that makes the pool imports what classes need: the model, and scikit-learn.
    from ops.explain.word_classes import corpus_words, token_vectors, topic_literals

    baseline = np.flatnonzero(mining.sentences.baseline)
    words = corpus_words(mining.text, baseline)
    topics = topic_literals(words, token_vectors(words.spellings, facts), seed)
    profiler = Profiler(mining.text, mining.options["nuisance"])
    further = [topics, form_literals(profiler), length_literals(mining.sentences), value_literals(profiler)]
    return pa.concat_tables([united(listed), *further])


def hubs_table(hubs: Hubs) -> pa.Table:
    """Return hubs as a table; `read_hubs` reads it."""
    return write_arrays(rows=hubs.rows, wins=hubs.wins, most=hubs.most, **vars(hubs.won))


def read_hubs(table: pa.Table) -> Hubs:
    """Return the hubs that `hubs_table` stored."""
    own = read_arrays(table)
    return Hubs(own["rows"], own["wins"], Sequences(own["items"], own["offsets"]), float(own["most"]))
