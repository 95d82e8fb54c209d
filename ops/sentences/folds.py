"""The division of the documents into ten folds: what is learned from some folds is tested on the others."""

import numpy as np

from ops.arrays import Int8s, Int64s
from ops.sampling import DOCUMENT_FOLDS, priorities

FOLDS = 10
HALF = FOLDS // 2  # folds 0 to 4 are one half of the documents, and folds 5 to 9 the other

_BITS, _LOW = np.uint64(32), np.uint64(2**32 - 1)


def folds(documents: Int64s, seed: int) -> Int8s:
    """Return the fold of each document, `[documents]` int8, from 0 to 9; each fold has a probability of one tenth.

    A document's fold depends only on its code and the seed, so that different runs over one corpus have the same folds.
    All sentences of a document are in one fold, so that no sentence can be recognised from its neighbours.

    Args:
        documents: the codes of documents (`ops.sentences.codes.document_codes`), `[documents]` int64.
        seed: the run's seed.
    """
    priority, count = priorities(documents.view(np.uint64), seed, DOCUMENT_FOLDS), np.uint64(FOLDS)
    # The upper 64 bits of the 128-bit product of priority and number of folds, from its two halves of 32 bits.
    upper = (priority >> _BITS) * count + ((priority & _LOW) * count >> _BITS)
    return (upper >> _BITS).astype(np.int8)
