"""The two halves of the documents: what is chosen is chosen on one of them, and scored on the other."""

import numpy as np

from ops.arrays import Bools, Int64s
from ops.sampling import HELD_OUT, priorities

_HALF = np.uint64(1 << 63)


def held_out(documents: Int64s, seed: int) -> Bools:
    """Return which documents are in the test half, each with chance one half, `[documents]` bool.

    A document's half depends on its code and the seed alone, so that runs over one corpus have the same halves. All
    sentences of a document are in one half, so that none is recognised by its neighbours.

    Args:
        documents: the codes of documents (`ops.sentences.codes.document_codes`), `[documents]` int64.
        seed: the run's seed.
    """
    return np.asarray(priorities(documents.view(np.uint64), seed, HELD_OUT) >= _HALF)
