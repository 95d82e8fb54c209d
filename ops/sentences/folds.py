"""The division of the documents into ten folds: what is learned from some folds is tested on the others."""

import numpy as np

from ops.arrays import Int8s, Int64s
from ops.sampling import DOCUMENT_FOLDS, priorities

FOLDS = 10
HALF = FOLDS // 2  # folds 0 to 4 are one half of the documents, and folds 5 to 9 the other

# The least priority of folds 1 to 9: a document's fold is ten times its priority as a share of 2**64.
_STARTS = np.array([-(-(fold << 64) // FOLDS) for fold in range(1, FOLDS)], np.uint64)


def folds(documents: Int64s, seed: int) -> Int8s:
    """Return the fold of each document, `[documents]` int8, from 0 to 9; each fold has a probability of one tenth.

    A document's fold depends only on its code and the seed, so that different runs over one corpus have the same folds.
    All sentences of a document are in one fold, so that no sentence can be recognised from its neighbours.

    Args:
        documents: the codes of documents (`ops.sentences.codes.document_codes`), `[documents]` int64.
        seed: the run's seed.
    """
    priority = priorities(documents.view(np.uint64), seed, DOCUMENT_FOLDS)
    return np.searchsorted(_STARTS, priority, "right").astype(np.int8)
