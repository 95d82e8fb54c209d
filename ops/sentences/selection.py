"""Which sentences of a corpus are annotated, and as what: a byte of marks for each."""

import numpy as np

from ops.arrays import UInt8s
from ops.sampling import BASELINE, draw
from ops.shards import Shards
from ops.storage.store import Store
from ops.storage.tables import read_parts

SELECTED, IN_BASELINE, WINNER = 1, 2, 4


def mark_sentences(store: Store, shards: Shards, whole: bool, baseline_size: int | None, seed: int) -> UInt8s:
    """Return a byte for each sentence of the corpus that says whether it is to be annotated, and as what.

    Args:
        store: the run's folder.
        shards: the corpus's.
        whole: annotate every sentence; the baseline is then all that were scored.
        baseline_size: sentences of the uniform baseline sample; None: all.
        seed: that of the sample.
    """
    marks = np.zeros(shards.sentences, np.uint8)
    for table in read_parts(store, "topk", ["sent_id"]):
        marks[table["sent_id"].to_numpy()] = SELECTED | WINNER
    for table in read_parts(store, "activations", ["sent_id"]):
        marks[table["sent_id"].to_numpy()] |= SELECTED
    lost = [table["sent_id"].to_numpy() for table in read_parts(store, "unscored", ["sent_id"])]
    unscored = np.sort(np.concatenate([np.zeros(0, np.int64), *lost]))
    scored = shards.sentences - len(unscored)
    if whole or baseline_size is None or baseline_size >= scored:
        kept = marks[unscored]
        marks |= SELECTED | IN_BASELINE
        marks[unscored] = kept
    else:
        place = draw(scored, baseline_size, seed, BASELINE)
        # Of the scored sentences the one at a place has as many before it as there are unscored ones below it.
        place += np.searchsorted(unscored - np.arange(len(unscored)), place, side="right")
        marks[place] |= SELECTED | IN_BASELINE
    if whole:
        marks |= SELECTED
    return marks
