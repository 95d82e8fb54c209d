"""How unusual the activations of texts are, unit by unit and as a whole, compared with sentences of the corpus."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ops.arrays import Bools, Float32s, Float64s, Int32s, Int64s
from ops.respond.common import Common
from ops.respond.reference import Sample
from ops.respond.tails import Distributions, exact_places, signed_tails
from ops.schema import layer_columns
from ops.storage.open_tables import OpenTables
from ops.topk.activation_sample import sample_of_layer
from ops.topk.neurons import Neurons, read_neurons

OUTER = 0.01  # units with a tail of at most this are outer units
TWENTIETH = 20  # the tail of the unit in this place is compared too
_BLOCK = 512  # units whose sample is in memory at once


@dataclass(frozen=True)
class Corpus:
    """What a run knows of its corpus.

    Attributes:
        tables, neurons: its tables and units.
        distributions, sample: its units' distributions, and its activation sample.
        poles, winners: the poles, and the most winners of each.
        seed: the seed of the run.
    """

    tables: OpenTables
    neurons: Neurons
    distributions: Distributions
    sample: Sample
    poles: tuple[str, ...]
    winners: int
    seed: int

    @classmethod
    def read(cls, tables: OpenTables, topk: dict[str, Any]) -> "Corpus":
        """Return what a run knows; `topk` is the entry of `topk` in run.json."""
        identity, sentences = topk["identity"], int(topk["counts"]["scored"])
        neurons, kept = read_neurons(tables.store), identity["poles"]
        names = tables.dataset("activations").schema.names
        sparse = len(layer_columns(neurons.layers[0], names)) > 1
        poles = ("top", "bottom") if kept == "both" else (kept,)
        k, seed = int(identity["k"]), int(identity["seed"])
        distributions = Distributions.read(tables, neurons, sentences, k, poles, sparse)
        return cls(tables, neurons, distributions, Sample.read(tables), poles, k, seed)

    def blocks(self, rows: Int64s) -> Iterator[tuple[slice, Float32s]]:
        """Yield some units at a time as a slice of all units, with their activations in the sample.

        Args:
            rows: the indices of the sentences that are wanted of the sample.

        Yields:
            The slice, and the activations `[rows, units]`.
        """
        names = self.tables.dataset("activations").schema.names
        for layer, width in self.neurons.by_layer.items():
            table = self.tables.read("activations", None, layer_columns(layer, names))
            sample, start = sample_of_layer(table, layer, width), self.neurons.span(layer)[0]
            for first in range(0, width, _BLOCK):
                stop = min(first + _BLOCK, width)
                yield slice(start + first, start + stop), sample.of_units(first, stop)[rows]


@dataclass(frozen=True)
class Whole:
    """How unusual a text is as a whole, next to the sentences of its reference, each treated as the text is.

    Attributes:
        outer: the number of its units with a tail of at most `OUTER`.
        twentieth: the tail of its unit in place `TWENTIETH`.
        outers, twentieths: the same of each sentence of the reference, `[sentences]`; empty without a reference.
        lengths: the numbers of model tokens of these sentences, `[sentences]`.
    """

    outer: int
    twentieth: float
    outers: Int64s
    twentieths: Float64s
    lengths: Int64s

    def as_json(self) -> dict[str, Any]:
        """Return the numbers, with quantiles over the reference, which are None without one."""
        size = len(self.outers)
        low, median, high = np.quantile(self.outers, [0.05, 0.5, 0.95]).tolist() if size else (None, None, None)
        return {
            "outer": self.outer, "reference": size, "outer_q05": low, "outer_q50": median, "outer_q95": high,
            "share_with_more": float((self.outers > self.outer).mean()) if size else None,
            "fewest_tokens": int(self.lengths.min()) if size else None,
            "most_tokens": int(self.lengths.max()) if size else None,
            "tail_20": known(self.twentieth), "tail_20_q50": known(np.median(self.twentieths)) if size else None,
        }  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """How unusual texts are; arrays are `[texts, units]`.

    Attributes:
        activation: the pooled activations.
        z: their distances from the corpus's means, in standard deviations.
        tail: their signed tails in the corpus (see `signed_tails`); NaN for silent units and inactive features.
        tail_like: their signed tails in each text's reference; NaN without a reference.
        rank: their ranks among the winners at the end where the tail is; 0 if they are not among them.
        wholes: how unusual each text is as a whole.
    """

    activation: Float32s
    z: Float64s
    tail: Float64s
    tail_like: Float64s
    rank: Int32s
    wholes: list[Whole]


def measure(
    corpus: Corpus, values: Float32s, lengths: Sequence[int], own: Sequence[int], common: Common | None = None
) -> Measured:
    """Return how unusual texts are.

    Args:
        corpus: what is known of the corpus.
        values: the texts' activations, `[texts, units]`.
        lengths: their numbers of model tokens.
        own: the id of the sentence of the corpus that a text is, or -1.
        common: counts units that are outer for many texts, if given.
    """
    tail, rank = text_tails(corpus, values, own)
    nearest = [corpus.sample.nearest(tokens, sentence) for tokens, sentence in zip(lengths, own, strict=True)]
    rows = np.unique(np.concatenate([np.zeros(0, np.int64), *nearest]))
    inside = [np.searchsorted(rows, own_rows) for own_rows in nearest]
    tail_like = np.full(values.shape, np.nan)
    outers, smallest = np.zeros(len(rows), np.int64), np.full((len(rows), TWENTIETH), np.inf)
    drawn = common.draw(inside) if common is not None else None
    for units, activations in corpus.blocks(rows) if len(rows) else ():
        flags = corpus.distributions.add_sentences(activations, units, OUTER, outers, smallest)
        for text, chosen in enumerate(inside):
            if len(chosen):
                like, value = activations[chosen], values[text, units]
                counts = (like >= value).sum(0), (like <= value).sum(0)
                found = signed_tails(*counts, len(chosen), corpus.distributions.sparse)
                tail_like[text, units] = np.where(np.isnan(tail[text, units]), np.nan, found)
        if common is not None and drawn is not None:
            common.add_reference(drawn, units, flags)
    if common is not None:
        common.add_texts(tail, OUTER)
    ordered = np.sort(np.abs(tail), axis=1)[:, :TWENTIETH]  # NaN comes last
    wholes = [
        Whole(int(is_outer(tail[text]).sum()), float(ordered[text, -1]), outers[own_rows], smallest[own_rows, -1],
              corpus.sample.lengths[rows[own_rows]])
        for text, own_rows in enumerate(inside)
    ]  # fmt: skip
    spread = np.where(corpus.distributions.silent, np.nan, corpus.distributions.std)
    return Measured(values, (values - corpus.distributions.mean) / spread, tail, tail_like, rank, wholes)


def text_tails(corpus: Corpus, values: Float32s, own: Sequence[int]) -> tuple[Float64s, Int32s]:
    """Return the signed tails of texts in the corpus and their ranks among the winners, each `[texts, units]`."""
    of, is_own = corpus.distributions, np.asarray(own) >= 0
    count = of.at_least(values, slice(None))
    higher, lower = np.maximum(count - is_own[:, None], 0.0), of.sentences - count
    ranks = {}
    for pole, threshold in of.thresholds.items():
        places = exact_places(corpus.tables, corpus.neurons, values, own, pole, threshold)
        counts, at = higher if pole == "top" else lower, (places.text, places.unit)
        as_last = values[at] == threshold[places.unit]
        counts[at] = np.where(as_last, np.maximum(counts[at], places.reached), places.reached)
        ranks[pole] = np.zeros(values.shape, np.int32)
        ranks[pole][at] = places.rank
    sentences = (of.sentences - is_own)[:, None]
    tail = of.known(signed_tails(higher, lower, sentences, of.sparse), values, slice(None))
    none = np.zeros(values.shape, np.int32)
    rank = np.where(tail > 0, ranks.get("top", none), np.where(tail < 0, ranks.get("bottom", none), 0))
    return tail, rank


def is_outer(tails: Float64s) -> Bools:
    """Return which signed tails are at most `OUTER`."""
    return np.asarray(np.abs(tails) <= OUTER)


def known(value: Any) -> float | None:
    """Return a number, or None for NaN and infinity."""
    return float(value) if np.isfinite(value) else None
