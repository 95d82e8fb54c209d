"""Which sentences of a corpus are annotated, as what, and how many neurons and poles each of them wins."""

from typing import NamedTuple

import numpy as np

from ops.arrays import Int32s, UInt8s
from ops.sampling import BASELINE, draw
from ops.shards import Shards
from ops.storage.store import Store
from ops.storage.tables import read_parts

SELECTED, IN_BASELINE, WINNER = 1, 2, 4


class Marked(NamedTuple):
    """What is known of every sentence of a corpus before it is annotated.

    Attributes:
        marks: whether it is to be annotated, and as what, `[sentences]` uint8.
        wins: how many neurons and poles it is a winner of, `[sentences]` int32.
    """

    marks: UInt8s
    wins: Int32s


def mark_sentences(
    store: Store, shards: Shards, whole: bool, baseline_size: int | None, seed: int, by_dataset: bool = False
) -> Marked:
    """Mark the sentences of the corpus that are to be annotated; memory is five bytes for each sentence.

    Args:
        store: the run's folder.
        shards: the corpus's.
        whole: annotate every sentence; the baseline is then all that were scored.
        baseline_size: sentences of the uniform baseline sample; None: all.
        seed: that of the sample.
        by_dataset: annotate the winners within data sets too. They are not marked as winners and win nothing.
    """
    marks, wins = np.zeros(shards.sentences, np.uint8), np.zeros(shards.sentences, np.int32)
    for table in read_parts(store, "topk", ["sent_id"]):
        np.add.at(wins, table["sent_id"].to_numpy(), np.int32(1))
    marks[wins > 0] = SELECTED | WINNER
    for also in (*(("topk_by_dataset",) if by_dataset else ()), "activations"):
        for table in read_parts(store, also, ["sent_id"]):
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
    return Marked(marks, wins)
