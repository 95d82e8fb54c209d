"""How unusual the activations of texts are, by unit, as a whole and together, compared with sentences of the corpus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ops.arrays import Bools, Float32s, Float64s, Int32s, Int64s
from ops.respond.corpus import Corpus
from ops.respond.tails import is_outer, places_among_winners, signed_tails
from ops.sampling import OWN_TEXTS
from ops.schema import table
from ops.schema.responses import RESPONSES

DRAWS = 100  # times that as many sentences are drawn, one from the reference of each text


class Common:
    """Counts, for each unit and end, the texts that have it in the outer part of the corpus's distribution.

    Blocks of texts are added one after another. The drawn sentences are counted in the same way.
    """

    def __init__(self, units: int, seed: int) -> None:
        self._counts = np.zeros((2, units), np.int32)
        self._drawn = np.zeros((DRAWS, 2, units), np.int32)
        self._generator = np.random.default_rng([seed, OWN_TEXTS])
        self.texts = self.compared = 0

    def draw(self, references: Sequence[Int64s]) -> Int64s:
        """Draw a sentence from the reference of each text that has one, `[draws, texts]`."""
        nonempty = [reference for reference in references if len(reference)]
        self.compared += len(nonempty)
        drawn = [self._generator.choice(reference, DRAWS) for reference in nonempty]
        return np.array(drawn, np.int64).reshape(-1, DRAWS).T

    def add_draws(self, drawn: Int64s, units: slice, tails: Float64s) -> None:
        """Count the drawn sentences, `[draws, texts]`, as rows of the signed tails of some units, `[rows, units]`."""
        for end, has in enumerate(_ends(tails)):
            self._drawn[:, end, units] += has[drawn].sum(1, dtype=np.int32)

    def add_texts(self, tails: Float64s) -> None:
        """Count texts, whose signed tails are `[texts, units]`."""
        self.texts += len(tails)
        for end, has in enumerate(_ends(tails)):
            self._counts[end] += has.sum(0, dtype=np.int32)

    def units(self) -> list[tuple[int, str, int]]:
        """Return the units that are outer for most texts: index, pole and number of texts, those of most first."""
        end, unit = np.nonzero(2 * self._counts > self.texts)
        outer = [(int(u), ("top", "bottom")[e], int(self._counts[e, u])) for e, u in zip(end, unit, strict=True)]
        return sorted(outer, key=lambda row: (-row[2], row[0]))

    def of_draws(self) -> Int64s:
        """Return how many units each draw of sentences has in common, `[draws]`; empty if a text had no reference."""
        if self.compared < self.texts:
            return np.zeros(0, np.int64)
        return np.asarray((2 * self._drawn > self.texts).sum((1, 2)))


def _ends(tails: Float64s) -> tuple[Bools, Bools]:
    """Return where signed tails are in the upper outer part, and where in the lower."""
    outer = is_outer(tails)
    return np.asarray(outer & (tails > 0)), np.asarray(outer & (tails < 0))


@dataclass(frozen=True)
class Measured:
    """How unusual texts are; arrays are `[texts, units]`.

    Attributes:
        activation: the pooled activations.
        z: their distances from the corpus's means, in standard deviations.
        tail: their signed tails in the corpus (see `signed_tails`); NaN for silent units and inactive features.
        tail_like: their signed tails in each text's reference; NaN without a reference.
        rank: their ranks among the winners at the end where the tail is; 0 if they are not among them.
        wholes: how unusual each text is as a whole, as JSON (see `whole`).
    """

    activation: Float32s
    z: Float64s
    tail: Float64s
    tail_like: Float64s
    rank: Int32s
    wholes: list[dict[str, Any]]


def measure(
    corpus: Corpus, values: Float32s, lengths: Sequence[int], sentences: Sequence[int], common: Common | None = None
) -> Measured:
    """Return how unusual texts are.

    Args:
        values: the texts' activations, `[texts, units]`.
        lengths: their numbers of model tokens.
        sentences: the id of the sentence of the corpus that each text is, or -1.
        common: counts units that are outer for many texts, if given.
    """
    distributions, (tail, rank) = corpus.distributions, text_tails(corpus, values, sentences)
    nearest = [corpus.sample.nearest(tokens, sentence) for tokens, sentence in zip(lengths, sentences, strict=True)]
    tail_like = np.full(values.shape, np.nan)
    drawn = common.draw(nearest) if common is not None else np.zeros((0, 0), np.int64)
    some, places = np.unique(drawn, return_inverse=True)
    for units, activations in corpus.blocks() if any(map(len, nearest)) else ():
        for text, chosen in enumerate(nearest):
            if len(chosen):
                like, value = activations[chosen], values[text, units]
                counts = (like >= value).sum(0), (like <= value).sum(0)
                tail_like[text, units] = signed_tails(*counts, len(chosen), distributions.sparse)
        if common is not None:
            tails = distributions.tails_of_sentences(activations[some], units)
            common.add_draws(places.reshape(drawn.shape), units, tails)
    tail_like[np.isnan(tail)] = np.nan
    if common is not None:
        common.add_texts(tail)
    counts = is_outer(tail).sum(1).tolist()
    wholes = [whole(corpus, outer, chosen) for outer, chosen in zip(counts, nearest, strict=True)]
    spread = np.where(distributions.silent, np.nan, distributions.std)
    return Measured(values, (values - distributions.mean) / spread, tail, tail_like, rank, wholes)


def whole(corpus: Corpus, outer: int, chosen: Int64s) -> dict[str, Any]:
    """Return how unusual a text is as a whole, next to the sentences of its reference, each treated as the text is.

    Args:
        corpus: what is known of the corpus.
        outer: the number of its units with a tail of at most `OUTER`.
        chosen: the indices of these sentences in the sample, `[sentences]`; without any, what is compared is None.
    """
    size, lengths = len(chosen), corpus.sample.lengths[chosen]
    outers = corpus.outers[chosen] if size else np.zeros(0, np.int64)  # which reads the sample
    low, median, high = np.quantile(outers, [0.05, 0.5, 0.95]).tolist() if size else (None, None, None)
    return {
        "outer": outer, "reference": size, "outer_q05": low, "outer_q50": median, "outer_q95": high,
        "share_with_more": float((outers > outer).mean()) if size else None,
        "fewest_tokens": int(lengths.min()) if size else None,
        "most_tokens": int(lengths.max()) if size else None,
    }  # fmt: skip


def text_tails(corpus: Corpus, values: Float32s, sentences: Sequence[int]) -> tuple[Float64s, Int32s]:
    """Return the signed tails of texts in the corpus and their ranks among the winners, each `[texts, units]`."""
    of, is_own = corpus.distributions, np.asarray(sentences)[:, None] >= 0
    count = of.at_least(values, slice(None))
    counts = {"top": np.maximum(count - is_own, 0.0), "bottom": of.sentences - count}
    ranks = {pole: np.zeros(values.shape, np.int32) for pole in counts}
    for pole, threshold in of.thresholds.items():
        at, rank, reached = places_among_winners(corpus.tables, corpus.neurons, values, sentences, pole, threshold)
        as_last = values[at] == threshold[at[1]]
        counts[pole][at] = np.where(as_last, np.maximum(counts[pole][at], reached), reached)
        ranks[pole][at] = rank
    tail = of.known(
        signed_tails(counts["top"], counts["bottom"], of.sentences - is_own, of.sparse), values, slice(None)
    )
    return tail, np.where(tail > 0, ranks["top"], np.where(tail < 0, ranks["bottom"], 0))


def known(value: Any) -> float | None:
    """Return a number, or None for NaN and infinity."""
    return float(value) if np.isfinite(value) else None


def response_rows(corpus: Corpus, measured: Measured, texts: Sequence[str], first: int) -> pa.Table:
    """Return a row for each text and unit; `first` is the number of the first text."""
    units = len(corpus.neurons)
    layer, unit = corpus.neurons.layer_and_unit(np.arange(units))
    tail, rank = measured.tail.ravel(), measured.rank.ravel()
    numbers = np.arange(first, first + len(texts), dtype=np.int32)
    pole = pa.array(np.where(tail > 0, "top", "bottom"), pa.string(), mask=np.isnan(tail))
    columns = {
        "number": np.repeat(numbers, units),
        "text": pa.array(texts, pa.string()).take(pa.array(np.repeat(np.arange(len(texts)), units))),
        "layer": np.tile(layer, len(texts)), "unit": np.tile(unit, len(texts)),
        "activation": measured.activation.ravel(), "z": measured.z.ravel().astype(np.float32),
        "tail": np.abs(tail).astype(np.float32), "tail_like": np.abs(measured.tail_like.ravel()).astype(np.float32),
        "pole": pole, "rank": pa.array(rank, pa.int32(), mask=rank == 0),
    }  # fmt: skip
    return table(RESPONSES.arrow, columns)
