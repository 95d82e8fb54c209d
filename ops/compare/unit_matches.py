"""The most similar unit of another run for each unit of a run, by correlation over the sentences of both samples.

The method follows Gurnee and others, "Universal Neurons in GPT2 Language Models" (2024). The best match alone means
little, because any direction resembles the nearest one of thousands. So it is compared with the best match among the
axes of the other run's layers after a random rotation of each layer. The difference is the excess.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Bools, Float32s, Float64s, Int32s, Int64s, Integers
from ops.compare.activation_vectors import sampled_sentences, unit_correlations, unit_vectors
from ops.compare.shared_winners import read_pole
from ops.hashing import text_hash
from ops.sampling import random_rotation
from ops.shards import spans
from ops.storage.store import Store
from ops.storage.tables import read_parts
from ops.topk.activation_sample import LayerSample, read_layer
from ops.topk.neurons import POLES, Neurons
from ops.topk.silent import read_silent

MATCHES, UNIVERSAL = "compare/matches", "compare/universal"
BLOCK = 1_024  # number of units of each run whose vectors are in memory at once
LEAST_SENTENCES = 3  # required for a meaningful correlation
THRESHOLDS = tuple(i / 10 for i in range(10))
UNIVERSAL_FROM = 0.5  # the excess from which Gurnee and others call a neuron universal
PROCESS_BYTES = 400_000_000  # memory of a process before it loads data


def other_ids(store: Store, other: Store) -> Int64s:
    """Return the id in this run of each sentence of another run's corpus, matched by text; -1 if it is missing.

    Corpora of the same sources differ, and are numbered differently, if a model's tokenizer makes some sentences too
    short.
    """
    own, others = (_text_hashes(run) for run in (store, other))
    order = np.argsort(own, kind="stable")
    place = np.minimum(np.searchsorted(own[order], others), len(own) - 1)
    found = order[place]
    return np.where(own[found] == others, found, -1).astype(np.int64)


def _text_hashes(store: Store) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    hashes = [
        np.fromiter(map(text_hash, table["text"].to_pylist()), np.uint64, table.num_rows)
        for table in read_parts(store, "corpus", ["text"])
    ]
    return np.concatenate([np.zeros(0, np.uint64), *hashes])


def common_rows(store: Store, other: Store, ids: Int64s | None) -> tuple[Int64s, Int64s]:
    """Return which rows of the two activation samples contain the same sentences, in the same order.

    Args:
        store, other: the runs' folders.
        ids: the result of `other_ids`; None if both runs use the same sentence ids.
    """
    own, others = sampled_sentences(store), sampled_sentences(other)
    named = others if ids is None else ids[others]
    there = np.flatnonzero(named >= 0)
    _, rows, places = np.intersect1d(own, named[there], assume_unique=True, return_indices=True)
    return rows, there[places]


class LayerUnits:
    """The units of a layer, as vectors over some sentences, a block at a time.

    Args:
        sample: the layer's activations.
        rows: the sentences, by their rows in the sample.
        silent: which units are silent, `[units]`; their vectors are 0.
        rotation: the rotation of the layer's axes, `[units, units]`; None for the units themselves.
    """

    def __init__(self, sample: LayerSample, rows: Int64s, silent: Bools, rotation: Float64s | None = None) -> None:
        if rotation is not None and sample.offsets is not None:
            raise ValueError("sparse features are not rotated")
        self.sample, self.rows, self.silent, self.rotation = sample, rows, silent, rotation

    def vectors(self, first: int, stop: int) -> Float32s:
        """Return the `unit_vectors` of the units from `first` up to `stop` or the last, `[units, sentences]`."""
        stop = min(stop, len(self.silent))
        first = min(first, stop)
        if self.rotation is None:
            values = self.sample.of_units(first, stop)[self.rows]
            return unit_vectors(np.where(self.silent[first:stop], 0.0, values))
        # The mean is removed, because it is not a direction that both runs could share, and because large means cost
        # precision.
        values = self.sample.matrix()[self.rows]
        return unit_vectors((values - values.mean(0, dtype=np.float64)) @ self.rotation[:, first:stop])


@dataclass(frozen=True)
class Best:
    """The best match of each unit so far.

    Attributes:
        unit: the matched unit's number within the layers that were searched, `[units]` int32; -1 if there is none.
        correlation: the correlation with the matched unit, `[units]` float32; 0 if there is none.
    """

    unit: Int32s
    correlation: Float32s

    @classmethod
    def none(cls, units: int) -> "Best":
        """Return the state before the first comparison."""
        return cls(np.full(units, -1, np.int32), np.zeros(units, np.float32))

    def compare(self, own: Float32s, at: slice, others: Float32s, first: int) -> None:
        """Update the best matches with a block of other units; ties keep the earlier match.

        Args:
            own: vectors of some units, `[some, sentences]`.
            at: the positions of these units.
            others: vectors of other units, `[others, sentences]`.
            first: the number of the first other unit.
        """
        if not len(others):
            return
        products = unit_correlations(own, others)
        nearest = np.abs(products).argmax(1)
        found = products[np.arange(len(products)), nearest]
        better = np.abs(found) > np.abs(self.correlation[at])
        self.unit[at][better] = first + nearest[better]
        self.correlation[at][better] = found[better]


class Matcher:
    """Finds the best match of every unit of a run in the layers of another run, one layer at a time.

    Args:
        store, other: the runs' folders.
        neurons, others: the units of the two runs.
        ids: the result of `other_ids`; None if both runs use the same sentence ids.
        seed: the seed of the rotations, to which a layer's number is added; None for no rotation.
    """

    def __init__(
        self,
        store: Store,
        other: Store,
        neurons: Neurons,
        others: Neurons,
        ids: Int64s | None,
        seed: tuple[int, ...] | None,
    ) -> None:
        self.store, self.other, self.neurons, self.others, self.seed = store, other, neurons, others, seed
        self.rows = common_rows(store, other, ids)
        self.silent = read_silent(store, neurons), read_silent(other, others)

    def in_layer(self, layer: int) -> pa.Table:
        """Return `unit_b`, `correlation` and `rotated` of each unit's best match in a layer of the other run.

        `unit_b` is -1 if there is none; `rotated` is the highest absolute correlation with an axis of the rotated
        layer, null without rotation.
        """
        sample = read_layer(self.other, layer, self.others)
        silent = self.silent[1][slice(*self.others.span(layer))]
        there = LayerUnits(sample, self.rows[1], silent)
        best, turned_best = Best.none(len(self.neurons)), Best.none(len(self.neurons))
        turned = None
        if self.seed is not None:
            rng = np.random.default_rng([*self.seed, layer])
            # Silent units are also excluded from the rotation.
            heard = np.flatnonzero(~silent)
            inside = LayerSample(sample.values[:, heard], sample.sentences)
            turn = random_rotation(len(heard), rng)
            turned = LayerUnits(inside, self.rows[1], np.zeros(len(heard), bool), turn)
        sides = [(there, best), *([(turned, turned_best)] if turned is not None else [])]
        for first, stop in spans(len(silent), BLOCK):
            # Units and rotated axes are compared at once, because the run's own vectors are recomputed for each block.
            blocks = [(units.vectors(first, stop), found) for units, found in sides]
            for own, at in self._own_blocks():
                for block, found in blocks:
                    found.compare(own, at, block, first)
        rotated = np.abs(turned_best.correlation)
        columns = {"unit_b": best.unit, "correlation": best.correlation}
        return pa.table({**columns, "rotated": rotated if turned is not None else pa.nulls(len(rotated), pa.float32())})

    def _own_blocks(self) -> Iterator[tuple[Float32s, slice]]:
        for layer in self.neurons.layers:
            start, end = self.neurons.span(layer)
            sample = read_layer(self.store, layer, self.neurons)
            units = LayerUnits(sample, self.rows[0], self.silent[0][start:end])
            for first, stop in spans(end - start, BLOCK):
                yield units.vectors(first, stop), slice(start + first, start + stop)


def matcher_bytes(sentences: int, widest: int, rotated: int) -> int:
    """Estimate the memory in bytes of a process that finds matches.

    Args:
        sentences: number of sentences of the samples.
        widest: number of units of the widest layer of either run.
        rotated: number of units of the widest layer that is rotated; 0 if none is rotated.

    >>> [round(matcher_bytes(10_000, 3_072, rotated) / 1e9, 1) for rotated in (0, 3_072)]
    [1.2, 1.4]
    """
    # The terms are the values of a layer of each run, blocks of vectors under construction, and a rotation while it is
    # drawn.
    block = min(BLOCK, widest)
    return PROCESS_BYTES + sentences * (4 * 4 * widest + 2 * 16 * block) + 3 * 8 * rotated**2


def match_rows(neurons: Neurons, layers: tuple[int, ...], found: Iterable[pa.Table], overlaps: "Overlaps") -> pa.Table:
    """Return the rows of `compare/matches`.

    Args:
        neurons: the run's units.
        layers: the layers of the other run.
        found: the result of `Matcher.in_layer` for each of these layers; ties go to the first layer.
        overlaps: computes the winners that units and their matches share.
    """
    layer_b, best = np.zeros(len(neurons), np.int16), Best.none(len(neurons))
    rotated = np.full(len(neurons), np.nan)
    for number, table in zip(layers, found, strict=True):
        correlation = table["correlation"].to_numpy()
        better = (table["unit_b"].to_numpy() >= 0) & (np.abs(correlation) > np.abs(best.correlation))
        layer_b[better] = number
        best.unit[better] = table["unit_b"].to_numpy()[better]
        best.correlation[better] = correlation[better]
        if table["rotated"].null_count == 0:
            rotated = np.fmax(rotated, table["rotated"].to_numpy())
    none = best.unit < 0
    rotated[none] = np.nan
    excess = np.abs(best.correlation) - rotated
    layer, unit = neurons.layer_and_unit(np.arange(len(neurons)))
    columns = {
        "layer": layer,
        "unit": unit,
        "layer_b": pa.array(layer_b, mask=none),
        "unit_b": pa.array(best.unit, mask=none),
        "correlation": pa.array(best.correlation, mask=none),
        "rotated": rotated,
        "excess": excess,
        "overlap": overlaps.of(layer_b, best),
    }
    return schema.table(MATCHES, columns)


class Overlaps:
    """The winners that units of a run share with their matches in another run.

    Args:
        store, other: the runs' folders.
        neurons, others: the units of the two runs.
        ids: the result of `other_ids`; None if both runs use the same sentence ids.
    """

    def __init__(self, store: Store, other: Store, neurons: Neurons, others: Neurons, ids: Int64s | None) -> None:
        self.store, self.other, self.neurons, self.others, self.ids = store, other, neurons, others, ids

    def of(self, layer_b: Integers, best: Best) -> Float32s:
        """Return the share of each unit's winners that its match also has, NaN if there are none, `[units]` float32.

        The winners of both poles are added. The top of a unit is compared with the top of its match, or with the bottom
        if the correlation is negative.
        """
        shared, sizes = np.zeros(len(best.unit)), np.zeros(len(best.unit))
        there = np.flatnonzero(best.unit >= 0)
        match = np.full(len(best.unit), -1, np.int64)
        match[there] = self.others.number(layer_b[there].astype(np.int64), best.unit[there])
        for pole in POLES:
            own = _Winners(*read_pole(self.store, self.neurons, pole), None)
            for pole_b in POLES:
                units = there[(best.correlation[there] > 0) == (pole == pole_b)]
                if not own.counts.any() or not len(units):
                    continue
                theirs = _Winners(*read_pole(self.other, self.others, pole_b), self.ids)
                if not theirs.counts.any():
                    continue
                for unit in units:
                    winners = own.of(unit)
                    shared[unit] += len(np.intersect1d(winners, theirs.of(match[unit]), assume_unique=True))
                    sizes[unit] += len(winners)
        return np.where(sizes > 0, shared / np.maximum(sizes, 1), np.nan).astype(np.float32)


class _Winners:
    """The winners of all units at one pole, without the sentences that the first run lacks."""

    def __init__(self, counts: Int64s, sent_id: Integers, ids: Int64s | None) -> None:
        self.counts, self.sent_id, self.ids = counts, sent_id, ids
        self.starts = np.concatenate([[0], np.cumsum(counts)])

    def of(self, unit: int) -> Integers:
        """Return the winners of a unit by number."""
        found = self.sent_id[self.starts[unit] : self.starts[unit + 1]]
        if self.ids is None:
            return found
        named = self.ids[found]
        return named[named >= 0]


def universal_rows(matches: pa.Table) -> pa.Table:
    """Return the rows of `compare/universal`: the shares above each threshold by layer, and over all layers."""
    layer = matches["layer"].to_numpy()
    found = {
        "share": matches["excess"].to_numpy(),
        "correlated": np.abs(matches["correlation"].to_numpy()),
        "rotated": matches["rotated"].to_numpy(),
    }
    matched = ~np.isnan(found["correlated"])
    rows = []
    for own in (*np.unique(layer).tolist(), None):
        units = matched & (layer == own if own is not None else True)
        for threshold in THRESHOLDS:
            row = {"layer": own, "threshold": threshold, "n": int(units.sum())}
            for name, values in found.items():
                known = values[units]
                known = known[~np.isnan(known)]
                row[name] = float((known > threshold).mean()) if len(known) else None
            rows.append(row)
    return schema.table(UNIVERSAL, rows)
