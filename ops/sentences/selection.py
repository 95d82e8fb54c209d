"""The choice of the sentences to annotate and their roles, and the number of wins above which a sentence is a hub."""

import numpy as np
import pyarrow as pa

from ops.arrays import Int32s, UInt8s
from ops.sampling import BASELINE, draw
from ops.shards import Shards
from ops.storage.store import Store
from ops.storage.tables import read_parts, read_table
from ops.topk.neurons import POLES

SELECTED, IN_BASELINE, WINNER = 1, 2, 4
# A sentence that wins so often is informative of no neuron: the share of all, and the multiple of what chance gives.
LEAST_SHARE, TIMES_EXPECTED = 0.02, 10
THRESHOLDS = [f"{pole}_threshold" for pole in POLES]


def mark_sentences(
    store: Store, shards: Shards, whole: bool, baseline_size: int | None, seed: int, by_dataset: bool = False
) -> tuple[UInt8s, Int32s]:
    """Mark the sentences of the corpus that will be annotated, using five bytes of memory for each sentence.

    Args:
        store: the run's folder.
        shards: the shards of the corpus.
        whole: whether to annotate every sentence; the baseline then consists of all scored sentences.
        baseline_size: number of sentences of the uniform baseline sample; None means all scored sentences.
        seed: the seed of the sample.
        by_dataset: whether to annotate the winners within datasets too. They are not marked as winners, and their wins
            are not counted.

    Returns:
        Whether each sentence is annotated and in which roles (bits SELECTED, IN_BASELINE, WINNER), `[sentences]` uint8,
        and the number of neurons and poles of which it is a winner, `[sentences]` int32.
    """
    marks, wins = np.zeros(shards.sentences, np.uint8), np.zeros(shards.sentences, np.int32)
    for table in read_parts(store, "topk", ["sent_id"]):
        np.add.at(wins, table["sent_id"].to_numpy(), np.int32(1))
    marks[wins > 0] = SELECTED | WINNER
    for also in ("activations", *["topk_by_dataset"] * by_dataset):
        for table in read_parts(store, also, ["sent_id"]):
            marks[table["sent_id"].to_numpy()] |= SELECTED
    unscored = np.sort(read_table(store, "unscored", columns=["sent_id"])["sent_id"].to_numpy())
    scored = shards.sentences - len(unscored)
    if whole or baseline_size is None or baseline_size >= scored:
        kept = marks[unscored]
        marks |= SELECTED | IN_BASELINE
        marks[unscored] = kept
    else:
        sample = draw(scored, baseline_size, seed, BASELINE)
        # Convert each index among the scored sentences to an id: add the number of unscored sentences before it.
        sample += np.searchsorted(unscored - np.arange(len(unscored)), sample, side="right")
        marks[sample] |= SELECTED | IN_BASELINE
    if whole:
        marks |= SELECTED
    return marks, wins


def with_winners(neurons: pa.Table) -> int:
    """Return the number of neuron-poles that have winners, from the columns `THRESHOLDS` of neurons/.

    A sparse feature that is never active has none.
    """
    return sum(len(neurons) - neurons[name].null_count for name in THRESHOLDS)


def most_wins(winners: int, sentences: int, neuron_poles: int) -> float:
    """Return the maximum number of neuron-poles that a sentence may win without being a hub.

    The maximum is 2 % of the neuron-poles or ten times the number expected by chance, whichever is greater.

    Args:
        winners: number of winning sentences of each neuron-pole, K.
        sentences: number of scored sentences of the corpus, N.
        neuron_poles: number of neuron-poles that have winners.

    >>> most_wins(10_000, 82_000_000, 18_432), most_wins(100, 5_000, 4_608)
    (368.64, 921.6)
    """
    return max(LEAST_SHARE, TIMES_EXPECTED * winners / max(sentences, 1)) * neuron_poles
