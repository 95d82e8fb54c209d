"""The words and tags at which a neuron's winners peak, compared with peaks at random words of the same sentences."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import schema
from ops.arrays import places_among
from ops.statistics.association import expected_measures, place_in_group, rank_patterns
from ops.statistics.design_effect import effects_of_residuals
from ops.statistics.false_discovery import q_values
from ops.statistics.poisson_binomial import chance_of_hits
from ops.topk.neurons import POLES, Neurons, neuron_and_pole


def peak_rows(neurons: Neurons, winners: pa.Table) -> pa.Table:
    """Return the rows of `peaks/` of some sets of winners.

    A winner has one peak. If every word of its sentence were equally likely to be the peak, the probability of a value
    would be its share of the sentence's words. The expected count of a value is the sum of these probabilities over
    the winners.

    Args:
        winners: a row for each winner, sorted by `set` (`ops.topk.neurons.set_number`). `words` and `tags` are those of
            its sentence, null if it has none; `document` is a code for its document; `peak` is the index of the word at
            which the winner peaks, or -1 for none.
    """
    tables = [_rows("peak_tag", neurons, winners, "tags"), _rows("peak_word", neurons, winners, "words")]
    return schema.table("peaks", pa.concat_tables(tables))


def _rows(name: str, neurons: Neurons, winners: pa.Table, column: str) -> pa.Table:
    kept = winners.filter(pc.and_(pc.greater_equal(winners["peak"], 0), pc.is_valid(winners[column])))
    sets, peak, documents = (kept[key].to_numpy() for key in ("set", "peak", "document"))
    lists = kept[column].combine_chunks()
    values = lists.flatten().dictionary_encode()
    codes = values.indices.to_numpy().astype(np.int64)
    names = values.dictionary
    alphabetical = np.argsort(np.argsort(np.array(names.to_pylist(), object), kind="stable"))
    lengths = lists.value_lengths().to_numpy().astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    span = max(len(names), 1)
    at_peak = codes[starts + peak]
    # A set of winners and a value are encoded as one integer: the set's number times the number of values, plus the
    # value's index.
    keys, counts = np.unique(sets * span + at_peak, return_counts=True)
    # Each value of each winner's sentence, and its share of the sentence's words: the probability that it is the peak.
    pairs, in_sentence = np.unique(np.repeat(np.arange(len(sets)), lengths) * span + codes, return_counts=True)
    winner, value = pairs // span, pairs % span
    key, is_listed = places_among(keys, sets[winner] * span + value)
    winner, value, chance = winner[is_listed], value[is_listed], (in_sentence / lengths[winner])[is_listed]
    order = np.lexsort((documents[winner], key))
    winner, value, key, chance = winner[order], value[order], key[order], chance[order]
    expected = np.bincount(key, chance, minlength=len(keys))

    which = keys // span
    in_set = np.unique(np.stack([sets, documents], axis=1), axis=0)[:, 0]
    n, n_documents = np.bincount(sets)[which], np.bincount(in_set)[which]
    n_words = np.bincount(sets, lengths).astype(np.int64)[which]
    association = expected_measures(counts, n, expected, n_words)
    hit = at_peak[winner] == value
    effect = effects_of_residuals(hit - chance, hit, key, documents[winner], counts > expected, n, n_documents)
    p = chance_of_hits(chance, np.searchsorted(key, np.arange(len(keys) + 1)), counts, effect)
    order = rank_patterns(association.g2, counts, alphabetical[keys % span], which)
    neuron, pole = neuron_and_pole(which[order])
    layer, unit = neurons.layer_and_unit(neuron)
    columns = {
        "layer": layer,
        "unit": unit,
        "pole": pa.array(np.array(POLES, object)[pole], pa.string()),
        "property": pa.array([name] * len(order), pa.string()),
        "value": names.take(pa.array(keys[order] % span)),
        "count": counts[order],
        "n": n[order],
        **{measure: getattr(association, measure)[order] for measure in ("share", "baseline_share", "lift", "g2")},
        "design_effect": np.where(np.isinf(effect), np.nan, effect)[order],
        "p_value": p[order],
        "q_value": q_values(p, which)[order],
        "rank": place_in_group(which[order]) + 1,
    }
    return pa.table(columns)
