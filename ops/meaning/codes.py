"""Sentence codes of every method and size, and their precision in finding neighbours: the rows of `meaning/hashing`."""

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Float32s
from ops.errors import InputError
from ops.meaning.autoencoder import autoencoder_codes
from ops.meaning.hashed_sentences import Drawn
from ops.meaning.hashing import (
    AUTOENCODER,
    PCA,
    REAL,
    SHUFFLED,
    SIZES,
    STATES,
    Codes,
    at_length_1,
    measure_codes,
    principal_codes,
)  # fmt: skip

IN_THE_PLANE = 2  # dimensions


def methods_and_sizes(width: int) -> list[tuple[str, int]]:
    """Return every method and size for states of `width` units, ending with the uncompressed states."""
    sizes = [size for size in SIZES if size < width]
    return [(method, size) for size in sizes for method in (AUTOENCODER, PCA)] + [(STATES, width)]


class HashedStates:
    """The states of drawn sentences, which are compressed and compared; states that are not finite are skipped.

    Args:
        drawn: the sentences.
        states: the states of the sentences, `[sentences, width]` float32.
        seed: the run's seed.
    """

    def __init__(self, drawn: Drawn, states: Float32s, seed: int) -> None:
        good = np.asarray(np.isfinite(states).all(1))
        self.drawn, self.states, self.seed = drawn.only(good), at_length_1(states[good]), seed

    def codes(self, method: str, size: int, epochs: int) -> dict[str, Codes]:
        """Return the codes of a method and size, as a mapping from `real` or `bits` to codes.

        Raises:
            InputError: all documents are held out, or no document is held out.
        """
        tested = self.drawn.tested
        given, asked = self.states[~tested], self.states[tested]
        if not len(given) or not len(asked):
            raise InputError("--hashed-sentences: too few documents to fit on some and test on the rest; raise it")
        if method == STATES:
            return {REAL: Codes(given, asked, 0.0)}
        if method == PCA:
            return principal_codes(given, asked, size)
        return autoencoder_codes(given, asked, size, epochs, self.seed)

    def rows(self, codes: dict[str, Codes], method: str, size: int, neighbours: int) -> pa.Table:
        """Return the rows of `meaning/hashing` for some codes; uncompressed states also get the control's rows."""
        rows = []
        for code, own in codes.items():
            known = {"method": method, "code": code, "size": size, "error": own.error}
            rows += [known | row for row in measure_codes(own, self.drawn, neighbours)]
            if method == STATES:
                known |= {"method": SHUFFLED, "error": None}
                rows += [known | row for row in measure_codes(own, self.drawn.shuffled(self.seed), neighbours)]
        return schema.table("meaning/hashing", rows)

    def plane(self, codes: dict[str, Codes], method: str) -> pa.Table:
        """Return the rows of `meaning/plane`: the two-dimensional codes of the held-out sentences."""
        ids, places = self.drawn.sent_ids[self.drawn.tested], codes[REAL].asked
        columns = {"method": [method] * len(ids), "sent_id": ids, "x": places[:, 0], "y": places[:, 1]}
        return schema.table("meaning/plane", columns)
