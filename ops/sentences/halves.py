"""The division of the documents into a half for choosing patterns and a half for scoring them."""

import numpy as np

from ops.arrays import Bools, Int64s
from ops.sampling import HELD_OUT, priorities

_HALF = np.uint64(1 << 63)


def held_out(documents: Int64s, seed: int) -> Bools:
    """Return which documents are in the test half, `[documents]` bool; each is in it with probability one half.

    A document's half depends only on its code and the seed, so that different runs over one corpus have the same
    halves. All sentences of a document are in one half, so that no sentence can be recognised from its neighbours.

    Args:
        documents: the codes of documents (`ops.sentences.codes.document_codes`), `[documents]` int64.
        seed: the run's seed.
    """
    return np.asarray(priorities(documents.view(np.uint64), seed, HELD_OUT) >= _HALF)
