"""What several texts have in common: units that are outer for most of them, compared with draws of sentences."""

from collections.abc import Sequence

import numpy as np

from ops.arrays import Bools, Float64s, Int64s
from ops.respond.tails import is_outer
from ops.sampling import OWN_TEXTS

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
        own = [reference for reference in references if len(reference)]
        self.compared += len(own)
        drawn = [self._generator.choice(reference, DRAWS) for reference in own]
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
        found = [(int(u), ("top", "bottom")[e], int(self._counts[e, u])) for e, u in zip(end, unit, strict=True)]
        return sorted(found, key=lambda row: (-row[2], row[0]))

    def of_draws(self) -> Int64s:
        """Return how many units each draw of sentences has in common, `[draws]`; empty if a text had no reference."""
        if self.compared < self.texts:
            return np.zeros(0, np.int64)
        return np.asarray((2 * self._drawn > self.texts).sum((1, 2)))


def _ends(tails: Float64s) -> tuple[Bools, Bools]:
    """Return where signed tails are in the upper outer part, and where in the lower."""
    outer = is_outer(tails)
    return np.asarray(outer & (tails > 0)), np.asarray(outer & (tails < 0))
