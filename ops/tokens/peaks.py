"""The words and tags at which a neuron's winners peak, compared with peaks at random words of the same sentences."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import schema
from ops.arrays import Int32s, Int64s
from ops.statistics.association import expected_measures, place_in_group, rank_patterns
from ops.statistics.design_effect import effects_of_residuals
from ops.statistics.false_discovery import q_values
from ops.statistics.poisson_binomial import chance_of_hits
from ops.topk.neurons import POLES, Neurons, neuron_and_pole


def peak_rows(
    neurons: Neurons, sets: Int64s, words: pa.Array, tags: pa.Array, peak: Int32s, documents: Int64s
) -> pa.Table:
    """Return the rows of `peaks/` of some sets of winners.

    A winner has one peak. If every word of its sentence were equally likely to be the peak, the probability of a value
    would be its share of the sentence's words. The expected count of a value is the sum of these probabilities over
    the winners.

    Args:
        sets: the set of each winner (`ops.topk.neurons.set_number`), ascending, `[winners]`.
        words, tags: the words and tags of each winner's sentence, list columns `[winners]`; null if it has none.
        peak: the index of the word at which each winner peaks, or -1 for none, `[winners]`.
        documents: a code for the document of each winner's sentence, `[winners]`.
    """
    found = [
        _rows("peak_tag", neurons, sets, tags, peak, documents),
        _rows("peak_word", neurons, sets, words, peak, documents),
    ]
    return schema.table("peaks", pa.concat_tables(found))


def _rows(name: str, neurons: Neurons, sets: Int64s, lists: pa.Array, peak: Int32s, documents: Int64s) -> pa.Table:
    lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    has = (peak >= 0) & pc.is_valid(lists).to_numpy(zero_copy_only=False)
    kept, own, peak, documents = lists.filter(pa.array(has)), sets[has], peak[has], documents[has]
    values = kept.flatten().dictionary_encode()
    codes = values.indices.to_numpy().astype(np.int64)
    names = values.dictionary
    alphabetical = np.argsort(np.argsort(np.array(names.to_pylist(), object), kind="stable"))
    lengths = kept.value_lengths().to_numpy().astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
    span = max(len(names), 1)
    at_peak = codes[starts + peak]
    # A set of winners and a value are encoded as one integer: the set's number times the number of values, plus the
    # value's index.
    keys, counts = np.unique(own * span + at_peak, return_counts=True)
    # Each value of each winner's sentence, and its share of the sentence's words: the probability that it is the peak.
    pairs, in_sentence = np.unique(np.repeat(np.arange(len(own)), lengths) * span + codes, return_counts=True)
    winner, value = pairs // span, pairs % span
    key = np.searchsorted(keys, own[winner] * span + value)
    listed = np.append(keys, -1)[key] == own[winner] * span + value
    winner, value, key, chance = winner[listed], value[listed], key[listed], (in_sentence / lengths[winner])[listed]
    order = np.lexsort((documents[winner], key))
    winner, value, key, chance = winner[order], value[order], key[order], chance[order]
    expected = np.bincount(key, chance, minlength=len(keys))

    which = keys // span
    in_set = np.unique(np.stack([own, documents], axis=1), axis=0)[:, 0]
    n, n_documents = np.bincount(own)[which], np.bincount(in_set)[which]
    n_words = np.bincount(own, lengths).astype(np.int64)[which]
    found = expected_measures(counts, n, expected, n_words)
    hit = at_peak[winner] == value
    effect = effects_of_residuals(hit - chance, hit, key, documents[winner], counts > expected, n, n_documents)
    p = chance_of_hits(chance, np.searchsorted(key, np.arange(len(keys) + 1)), counts, effect)
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
        **{measure: getattr(found, measure)[order] for measure in ("share", "baseline_share", "lift", "g2")},
        "design_effect": np.where(np.isinf(effect), np.nan, effect)[order],
        "p_value": p[order],
        "q_value": q_values(p, which)[order],
        "rank": place_in_group(which[order]) + 1,
    }
    return pa.table(columns)
