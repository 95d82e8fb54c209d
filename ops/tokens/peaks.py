"""At which words and tags a neuron's winners peak, against all words of the same sentences."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int32s, Int64s
from ops.schema import schema
from ops.statistics.association import measures, place_in_group, rank_patterns
from ops.topk.neurons import POLES, Neurons, neuron_and_pole


def peak_rows(neurons: Neurons, sets: Int64s, words: pa.Array, tags: pa.Array, peak: Int32s) -> pa.Table:
    """Return the rows of `peaks/` of some sets of winners.

    Args:
        neurons: the model's.
        sets: the set of each winner (`ops.topk.neurons.set_number`), ascending, `[winners]`.
        words, tags: of each winner's sentence, list columns `[winners]`; null where it has none.
        peak: the place of the word at which it peaks, -1 for none, `[winners]`.
    """
    found = [_rows("peak_tag", neurons, sets, tags, peak), _rows("peak_word", neurons, sets, words, peak)]
    order = [("layer", "ascending"), ("unit", "ascending"), ("pole", "ascending"), ("property", "ascending")]
    return pa.concat_tables(found).sort_by([*order, ("rank", "ascending")])


def _rows(name: str, neurons: Neurons, sets: Int64s, lists: pa.Array, peak: Int32s) -> pa.Table:
    lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    has = (peak >= 0) & pc.is_valid(lists).to_numpy(zero_copy_only=False)
    kept, own, peak = lists.filter(pa.array(has)), sets[has], peak[has]
    values = kept.flatten().dictionary_encode()
    codes = values.indices.to_numpy().astype(np.int64)
    names = values.dictionary
    alphabetical = np.argsort(np.argsort(np.array(names.to_pylist(), object), kind="stable"))
    lengths = kept.value_lengths().to_numpy().astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
    span = max(len(names), 1)
    # A value of a set of winners is one number: the set's place times the number of values, and the value's.
    keys, counts = np.unique(own * span + codes[starts + peak], return_counts=True)
    every, among_words = np.unique(np.repeat(own, lengths) * span + codes, return_counts=True)
    which = keys // span
    n = _total(own, np.ones(len(own), np.int64), which)
    n_words = _total(own, lengths, which)
    in_words = among_words[np.searchsorted(every, keys)] if len(keys) else keys
    found = measures(counts, n, in_words, n_words)
    order = rank_patterns(found.g2, counts, alphabetical[keys % span], which)
    neuron, pole = neuron_and_pole(which[order])
    layer, unit = neurons.layer_and_unit(neuron)
    columns: dict[str, Any] = {
        "layer": layer,
        "unit": unit,
        "pole": pa.array(np.array(POLES, object)[pole], pa.string()),
        "property": pa.array([name] * len(order), pa.string()),
        "value": names.take(pa.array(keys[order] % span)),
        "count": counts[order],
        "n": n[order],
        "share": found.share[order],
        "baseline_share": found.baseline_share[order],
        "lift": found.lift[order],
        "g2": found.g2[order],
        "rank": place_in_group(which[order]) + 1,
    }
    return pa.table(columns).cast(schema("peaks"))


def _total(sets: Int64s, amounts: Int64s, wanted: Int64s) -> Int64s:
    """Return the sum of the amounts of each wanted set."""
    known, place = np.unique(sets, return_inverse=True)
    sums = np.zeros(len(known), np.int64)
    np.add.at(sums, place, amounts)
    return np.asarray(sums[np.searchsorted(known, wanted)]) if len(wanted) else wanted
