"""The most similar unit of another run for each unit of a run, by correlation over the sentences of both samples.

The method follows Gurnee and others, "Universal Neurons in GPT2 Language Models" (2024). The best match alone means
little, because any direction resembles the nearest one of thousands. So it is compared with the best match among the
axes of the other run's layers after a random rotation of each layer. The difference is the excess.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from scipy.sparse import csc_array

from ops import schema
from ops.arrays import Bools, Float32s, Float64s, Int64s, UInt64s
from ops.compare.activation_vectors import PROCESS_BYTES, common_rows, unit_correlations, unit_vectors
from ops.compare.near_neurons import read_pole
from ops.hashing import text_hash
from ops.sampling import random_rotation
from ops.shards import spans
from ops.storage.store import Store
from ops.storage.tables import read_parts
from ops.topk.activation_sample import dense, read_layer
from ops.topk.neurons import POLES, Neurons
from ops.topk.silent import read_silent

MATCHES, UNIVERSAL = "compare/matches", "compare/universal"
BLOCK = 1_024  # number of units of each run whose vectors are in memory at once
THRESHOLDS = tuple(i / 10 for i in range(10))
UNIVERSAL_FROM = 0.5  # the excess from which Gurnee and others call a neuron universal


def other_ids(store: Store, other: Store) -> Int64s:
    """Return the id in this run of each sentence of another run's corpus, matched by text; -1 if it is missing.

    Corpora of the same sources differ, and are numbered differently, if a model's tokenizer makes some sentences too
    short.
    """
    hashes, others = (_text_hashes(run) for run in (store, other))
    order = np.argsort(hashes, kind="stable")
    ids = order[np.minimum(np.searchsorted(hashes[order], others), len(hashes) - 1)]
    return np.where(hashes[ids] == others, ids, -1).astype(np.int64)


def _text_hashes(store: Store) -> UInt64s:
    hashes = [
        np.fromiter(map(text_hash, table["text"].to_pylist()), np.uint64, table.num_rows)
        for table in read_parts(store, "corpus", ["text"])
    ]
    return np.concatenate([np.zeros(0, np.uint64), *hashes])


class LayerUnits:
    """The units of a layer, as vectors over some sentences, a block at a time.

    Args:
        sample: the layer's activations, as `read_layer` returns them.
        rows: the sentences, by their rows in the sample.
        silent: which units are silent, `[units]`; their vectors are 0.
        rotation: the rotation of the layer's axes, `[units, units]`; None for the units themselves.
    """

    def __init__(
        self, sample: Float32s | csc_array, rows: Int64s, silent: Bools, rotation: Float64s | None = None
    ) -> None:
        self.sample, self.rows, self.silent, self.rotation = sample, rows, silent, rotation

    def vectors(self, first: int, stop: int) -> Float32s:
        """Return the `unit_vectors` of the units from `first` up to `stop` or the last, `[units, sentences]`."""
        if self.rotation is None:
            values = dense(self.sample[:, first:stop])[self.rows]
            return unit_vectors(np.where(self.silent[first:stop], 0.0, values))
        # The mean is removed, because it is not a direction that both runs could share, and because large means cost
        # precision.
        values = dense(self.sample)[self.rows]
        return unit_vectors((values - values.mean(0, dtype=np.float64)) @ self.rotation[:, first:stop])


class Best:
    """The best match so far of each of so many units: its number in the searched layer, and the correlation, `[units]`.

    Without a match, the number is -1 and the correlation is 0.
    """

    def __init__(self, units: int) -> None:
        self.unit, self.correlation = np.full(units, -1, np.int32), np.zeros(units, np.float32)

    def compare(self, vectors: Float32s, at: slice, others: Float32s, first: int) -> None:
        """Update the best matches with a block of other units; ties keep the earlier match.

        Args:
            vectors, at: vectors of some units, `[some, sentences]`, and the positions of these units.
            others, first: vectors of other units, `[others, sentences]`, and the number of the first of them.
        """
        if not len(others):
            return
        products = unit_correlations(vectors, others)
        nearest = np.abs(products).argmax(1)
        highest = products[np.arange(len(products)), nearest]
        better = np.abs(highest) > np.abs(self.correlation[at])
        self.unit[at][better] = first + nearest[better]
        self.correlation[at][better] = highest[better]


class Matcher:
    """Finds the best match of every unit of a run in the layers of another run.

    Args:
        same_ids: whether both runs number sentences in the same way; otherwise sentences are matched by their text.
        seed: the seed of the rotations, to which a layer's number is added; None for no rotation.
    """

    def __init__(
        self, store: Store, other: Store, neurons: Neurons, others: Neurons, same_ids: bool,
        seed: tuple[int, ...] | None,
    ) -> None:  # fmt: skip
        self.store, self.other, self.neurons, self.others, self.seed = store, other, neurons, others, seed
        self.ids = None if same_ids else other_ids(store, other)
        self.sentences = common_rows(store, other, self.ids)
        self.silent = read_silent(store, neurons), read_silent(other, others)

    def in_layer(self, layer: int) -> pa.Table:
        """Return `unit_b`, `correlation` and `rotated` of each unit's best match in a layer of the other run.

        `unit_b` is -1 if there is none; `rotated` is the highest absolute correlation with an axis of the rotated
        layer, null without rotation.
        """
        sample, silent = read_layer(self.other, layer, self.others), self.silent[1][slice(*self.others.span(layer))]
        best, rotated = Best(len(self.neurons)), Best(len(self.neurons))
        sides = [(LayerUnits(sample, self.sentences[1], silent), best)]
        if self.seed is not None:
            # Silent units are also excluded from the rotation.
            heard = sample[:, ~silent]
            turn = random_rotation(heard.shape[1], np.random.default_rng([*self.seed, layer]))
            axes = LayerUnits(heard, self.sentences[1], np.zeros(heard.shape[1], bool), turn)
            sides.append((axes, rotated))
        for first, stop in spans(len(silent), BLOCK):
            # Units and rotated axes are compared at once, because the run's own vectors are recomputed for each block.
            blocks = [(units.vectors(first, stop), highest) for units, highest in sides]
            for vectors, at in self._blocks():
                for block, highest in blocks:
                    highest.compare(vectors, at, block, first)
        axis = pa.nulls(len(self.neurons), pa.float32()) if self.seed is None else np.abs(rotated.correlation)
        return pa.table({"unit_b": best.unit, "correlation": best.correlation, "rotated": axis})

    def _blocks(self) -> Iterator[tuple[Float32s, slice]]:
        """Yield the vectors of the run's own units a block at a time, and where these units are among all."""
        for layer in self.neurons.layers:
            start, end = self.neurons.span(layer)
            sample = read_layer(self.store, layer, self.neurons)
            units = LayerUnits(sample, self.sentences[0], self.silent[0][start:end])
            for first, stop in spans(end - start, BLOCK):
                yield units.vectors(first, stop), slice(start + first, start + stop)

    def rows(self, found: Iterable[pa.Table]) -> pa.Table:
        """Return the rows of `compare/matches`, given the result of `in_layer` for all layers of the other run.

        Of equal matches in several layers, the first counts.
        """
        of_layers = zip(*(table.columns for table in found), strict=True)
        unit_b, correlation, rotated = (np.stack([part.to_numpy() for part in parts]) for parts in of_layers)
        best = np.abs(correlation).argmax(0)
        unit_b, correlation = (values[best, np.arange(len(best))] for values in (unit_b, correlation))
        none, layer_b = unit_b < 0, np.array(self.others.layers)[best]
        axis = np.where(none, np.nan, np.fmax.reduce(rotated.astype(np.float64)))
        layer, unit = self.neurons.layer_and_unit(np.arange(len(best)))
        match = np.where(none, -1, self.others.number(layer_b, unit_b))
        columns = {
            "layer": layer, "unit": unit, "layer_b": pa.array(layer_b, pa.int16(), mask=none),
            "unit_b": pa.array(unit_b, mask=none), "correlation": pa.array(correlation, mask=none), "rotated": axis,
            "excess": np.abs(correlation) - axis, "overlap": self._overlaps(match, correlation),
        }  # fmt: skip
        return schema.table(MATCHES, columns)

    def _overlaps(self, match: Int64s, correlation: Float32s) -> Float32s:
        """Return the share of each unit's winners that its match, given by index, also has; NaN if there are none.

        The winners of both poles are added. The top of a unit is compared with the top of its match, or with the bottom
        if the correlation is negative.
        """
        shared, sizes = np.zeros(len(match)), np.zeros(len(match))
        for pole in POLES:
            counts, sent_id = read_pole(self.store, self.neurons, pole)
            winners = np.split(sent_id, np.cumsum(counts)[:-1])
            for pole_b in POLES:
                units = np.flatnonzero((match >= 0) & ((correlation > 0) == (pole == pole_b)))
                if not counts.any() or not len(units):
                    continue
                counts_b, sent_id = read_pole(self.other, self.others, pole_b)
                if not counts_b.any():
                    continue
                winners_b = np.split(sent_id, np.cumsum(counts_b)[:-1])
                for unit in units:
                    of_match = winners_b[match[unit]]
                    if self.ids is not None:
                        of_match = self.ids[of_match]
                        of_match = of_match[of_match >= 0]
                    shared[unit] += len(np.intersect1d(winners[unit], of_match, assume_unique=True))
                sizes[units] += counts[units]
        return np.where(sizes > 0, shared / np.maximum(sizes, 1), np.nan).astype(np.float32)


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


def universal_rows(matches: pa.Table) -> pa.Table:
    """Return the rows of `compare/universal`: the shares above each threshold by layer, and over all layers."""
    layer, correlation, rotated, excess = (
        matches[name].to_numpy() for name in ("layer", "correlation", "rotated", "excess")
    )
    measures = {"share": excess, "correlated": np.abs(correlation), "rotated": rotated}
    rows = []
    for number in (*np.unique(layer).tolist(), None):
        units = ~np.isnan(correlation) & (layer == number if number is not None else True)
        known = {name: values[units & ~np.isnan(values)] for name, values in measures.items()}
        for threshold in THRESHOLDS:
            shares = {name: float((values > threshold).mean()) for name, values in known.items() if len(values)}
            rows.append({"layer": number, "threshold": threshold, "n": int(units.sum()), **shares})
    return schema.table(UNIVERSAL, rows)
