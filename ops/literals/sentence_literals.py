"""Literals about a sentence as a whole: its length, its forms, its data set and its metadata."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ops.arrays import Int64s
from ops.forms.in_words import name_form
from ops.literals.pool import literal_rows
from ops.mine.properties import Profiler, Property
from ops.sentences.store import SentenceStore

LEAST_SHARE, MOST_VALUES = 0.01, 200
# The deciles, and the tails, where the winners of a neuron that follows length are.
_CUTS = np.array([0.02, 0.05, *np.arange(1, 10) / 10, 0.95, 0.98])
_LENGTH = "words_per_sentence"  # the profiler's name for the length


def value_properties(profiler: Profiler) -> dict[str, Property]:
    """Return the properties with one value for each sentence, except its length: data set and metadata, by name."""
    return {
        own.name: own
        for own in profiler.properties
        if own.is_feature and not own.every_sentence and own.name != _LENGTH
    }


def form_properties(profiler: Profiler) -> dict[str, Property]:
    """Return the forms of sentences, by name."""
    return {own.name: own for own in profiler.properties if own.is_form}


def length_literals(store: SentenceStore) -> pa.Table:
    """Return "at most n words" for some quantiles of the baseline's lengths, by the pool's `SCHEMA`.

    These are the nine inner deciles and the quantiles at 2, 5, 95 and 98 %, each once. The literals are cumulative. A
    literal that holds for every baseline sentence is omitted.
    """
    lengths = store.lengths(_baseline(store))
    if not len(lengths):
        return literal_rows("length", [], [])
    ends = np.unique(np.quantile(lengths, _CUTS, method="inverted_cdf")).astype(np.int64)
    most = [str(n) for n in ends[ends < lengths.max()].tolist()]
    return literal_rows("length", [f"at most {n} words" for n in most], [[n] for n in most])


def value_literals(profiler: Profiler) -> pa.Table:
    """Return the frequent data sets and metadata values, most frequent first, as rows of the pool's `SCHEMA`.

    At least 1 % of the baseline's sentences have such a value. They come from at least two documents, and are not all
    of the baseline. At most 200 values are returned.

    The items of a value are its property, as `profiles/` names it, and the value itself. They are followed by the keys
    of metadata that some sentences lack, whose only item is the key: a sentence without a key says nothing about it.
    """
    properties = value_properties(profiler)
    kept = _frequent(profiler, properties)
    rows = _baseline(profiler.view.store)
    selection = profiler.select(rows)
    keys = [
        name
        for name in properties
        if any(name == own for own, _ in kept)
        and 0 < np.count_nonzero(properties[name].codes(selection).lengths) < len(rows)
    ]
    texts = [f"{name}: {value}" for name, value in kept] + [f"has {key}" for key in keys]
    return literal_rows("value", texts, [[name, value] for name, value in kept] + [[key] for key in keys])


def form_literals(profiler: Profiler) -> pa.Table:
    """Return the frequent forms, most frequent first, by the rules of `value_literals`, as rows of the pool's `SCHEMA`.

    The items of a form are its property, as `profiles/` names it, and its value.
    """
    kept = _frequent(profiler, form_properties(profiler))
    return literal_rows("form", [name_form(*own) for own in kept], [[name, value] for name, value in kept])


def _frequent(profiler: Profiler, properties: Mapping[str, Property]) -> list[tuple[str, str]]:
    """Return the properties and values that are frequent in the baseline, most frequent first."""
    store = profiler.view.store
    rows = _baseline(store)
    selection, documents = profiler.select(rows), store.doc[rows]
    found: list[tuple[int, str, str]] = []
    for name, own in properties.items():
        codes = own.codes(selection)
        sentence = np.repeat(np.arange(len(rows)), codes.lengths)
        values, counts = np.unique(codes.items, return_counts=True)
        frequent = (counts >= LEAST_SHARE * len(rows)) & (counts < len(rows))
        for value, count in zip(values[frequent].tolist(), counts[frequent].tolist(), strict=True):
            of_value = documents[sentence[codes.items == value]]
            if of_value.min() < of_value.max():
                found.append((-count, name, own.values[value]))
    return [(name, value) for _, name, value in sorted(found)[:MOST_VALUES]]


def _baseline(store: SentenceStore) -> Int64s:
    return np.flatnonzero(store.baseline)
