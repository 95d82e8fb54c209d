"""What a run knows of its corpus: distributions, and the sample with which a text of its length is compared."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ops.arrays import Float32s, Int64s
from ops.respond.tails import Distributions, is_outer
from ops.schema import layer_columns
from ops.storage.open_tables import OpenTables
from ops.topk.activation_sample import dense, sample_of_layer
from ops.topk.neurons import Neurons, neuron_and_pole, read_neurons

MOST, LEAST = 1_000, 200  # sentences of a reference; with fewer than LEAST there is no comparison
FARTHEST = 0.25  # largest difference in tokens, as a share of the text's own number
_BLOCK = 256  # units whose sample is in memory at once


@dataclass(frozen=True)
class Sample:
    """The sentences of the activation sample.

    Attributes:
        ids: their ids in the order of activations/, `[sentences]`.
        lengths: the number of model tokens of each, `[sentences]`.
    """

    ids: Int64s
    lengths: Int64s

    @classmethod
    def read(cls, tables: OpenTables) -> "Sample":
        """Return the sample of a run."""
        ids = tables.read("activations", None, ["sent_id"])["sent_id"].to_numpy()
        rows = tables.rows_of_keys("corpus", "sent_id", set(ids.tolist()), ["sent_id", "n_tokens"])
        tokens = {row["sent_id"]: row["n_tokens"] for row in rows}
        return cls(ids, np.array([tokens[i] for i in ids.tolist()], np.int64))

    def nearest(self, tokens: int, own: int = -1) -> Int64s:
        """Return the indices, ascending, of the sentences nearest in length to a text; none if they are too few.

        Args:
            tokens: the text's number of model tokens.
            own: the id of the sentence of the corpus that the text is, which is left out.
        """
        distance = np.abs(self.lengths - tokens)
        near = np.flatnonzero((distance <= FARTHEST * tokens) & (self.ids != own))
        nearest = near[np.lexsort((self.ids[near], distance[near]))][:MOST]
        return np.sort(nearest) if len(nearest) >= LEAST else nearest[:0]


@dataclass(frozen=True)
class Corpus:
    """What a run knows of its corpus.

    Attributes:
        tables, names: its tables, and the names of those of its explanations that it has.
        neurons: its units.
        distributions, sample: its units' distributions, and its activation sample.
        poles, winners: the poles, and the most winners of each.
        seed: the seed of the run.
    """

    tables: OpenTables
    names: Container[str]
    neurons: Neurons
    distributions: Distributions
    sample: Sample
    poles: tuple[str, ...]
    winners: int
    seed: int

    @classmethod
    def read(cls, tables: OpenTables, names: Container[str], topk: dict[str, Any]) -> "Corpus":
        """Return what a run knows; `topk` is the entry of `topk` in run.json."""
        identity, sentences = topk["identity"], int(topk["counts"]["scored"])
        neurons, kept = read_neurons(tables.store), identity["poles"]
        columns = layer_columns(neurons.layers[0], tables.dataset("activations").schema.names)
        poles = ("top", "bottom") if kept == "both" else (kept,)
        k, seed = int(identity["k"]), int(identity["seed"])
        distributions = Distributions.read(tables, neurons, sentences, k, poles, len(columns) > 1)
        return cls(tables, names, neurons, distributions, Sample.read(tables), poles, k, seed)

    def blocks(self) -> Iterator[tuple[slice, Float32s]]:
        """Yield some units at a time: which of all they are, and their activations in the sample, `[sample, units]`."""
        names = self.tables.dataset("activations").schema.names
        for layer, width in self.neurons.by_layer.items():
            table = self.tables.read("activations", None, layer_columns(layer, names))
            sample, start = sample_of_layer(table, layer, width), self.neurons.span(layer)[0]
            for first in range(0, width, _BLOCK):
                stop = min(first + _BLOCK, width)
                yield slice(start + first, start + stop), dense(sample[:, first:stop])

    @cached_property
    def outers(self) -> Int64s:
        """The number of outer units of each sentence of the sample, counted as for other texts, `[sample]`."""
        counts = np.zeros(len(self.sample.ids), np.int64)
        for units, activations in self.blocks():
            counts += is_outer(self.distributions.tails_of_sentences(activations, units)).sum(1)
        return counts

    @cached_property
    def families(self) -> Int64s:
        """The family of each unit at the bottom and at the top, -1 without one, `[2, units]`."""
        families = np.full((2, len(self.neurons)), -1)
        if "families" in self.names:
            rows = self.tables.read("families", None, ["layer", "unit", "pole", "family"])
            number, pole = neuron_and_pole(self.neurons.set_numbers(rows))
            families[pole, number] = rows["family"].to_numpy()
        return families
