"""The pool of literals of a run, and its hubs, as tables that are stored between steps."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from ops.explain.hubs import Hubs
from ops.explain.nuisance import length_literals, value_literals
from ops.explain.pool import united
from ops.mine.mining import Mining
from ops.mine.properties import Profiler
from ops.model.facts import ModelFacts
from ops.patterns.sequences import Sequences


def make_pool(listed: Iterable[pa.Table], mining: Mining, facts: ModelFacts, seed: int) -> pa.Table:
    """Return all literals of a run: those that its neurons list, classes of words, lengths, data sets and metadata.

    Args:
        listed: the results of `count_listed` for disjoint groups of neuron-poles.
        mining: the annotated sentences, with words in lower case.
        facts: the model, whose token table is clustered into classes of words.
        seed: the seed of that clustering.
    """
    # Only the worker that makes the pool imports what classes need: the model, and scikit-learn.
    from ops.explain.topics import corpus_words, token_vectors, topic_literals

    baseline = np.flatnonzero(mining.sentences.baseline)
    words = corpus_words(mining.text, baseline)
    topics = topic_literals(words, token_vectors(words.spellings, facts), seed)
    further = [topics, length_literals(mining.sentences), value_literals(Profiler(mining.text))]
    return pa.concat_tables([united(listed), *further])


def hubs_table(hubs: Hubs) -> pa.Table:
    """Return hubs as a table of one row; `read_hubs` reads it."""
    columns = {
        "rows": pa.array([hubs.rows]),
        "wins": pa.array([hubs.wins]),
        "items": pa.array([hubs.won.items]),
        "offsets": pa.array([hubs.won.offsets]),
        "most": pa.array([hubs.most]),
    }
    return pa.table(columns)


def read_hubs(table: pa.Table) -> Hubs:
    """Return the hubs that `hubs_table` stored."""
    own = {name: table[name].combine_chunks() for name in table.column_names}
    rows, wins, items, offsets = (own[name].flatten().to_numpy() for name in ("rows", "wins", "items", "offsets"))
    return Hubs(rows, wins, Sequences(items.astype(np.int32), offsets), own["most"][0].as_py())
