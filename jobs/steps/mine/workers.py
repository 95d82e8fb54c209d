"""What all workers of `mine` are made from and share: the ranges of neurons, the sentences, the winners."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine.item import Item
from jobs.stage.stages import CODES
from ops.mine.held_out_sets import SETS, training_documents
from ops.mine.pattern_kinds import PatternKind, SequenceKind, SubtreeKind
from ops.mine.sentence_sets import SentenceSets
from ops.patterns.sequences import Sequences
from ops.sentences.local_copy import open_sentences
from ops.sentences.mining_view import MiningView
from ops.shards import spans
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk.neurons import POLES, Neurons, layer_widths, part_of, set_number

Longs = npt.NDArray[np.int64]

# What is mined of each neuron and pole: its winners, and for the held-out scores the training halves of its sets.
MINED = ("winners", *SETS)

NEURONS_PER_RANGE = 64
SENTENCES_PER_COUNT, RUNS, MOST_PER_COUNT = 50_000, 160, 200_000


@dataclass(frozen=True)
class MineArgs:
    """What every mining worker is made from; `sentences` is the annotate stage's fingerprint."""

    store: Store
    sentences: str
    fingerprint: str
    neurons: Neurons
    seed: int
    options: dict[str, Any]


def mine_args(store: Store, annotate: str, fingerprint: str, seed: int, options: dict[str, Any]) -> MineArgs:
    """Return what the workers are made from.

    Args:
        store: the run's folder.
        annotate, fingerprint: the fingerprints of `annotate`, whose sentences are mined, and of `mine`.
        seed, options: as chosen.
    """
    return MineArgs(store, annotate, fingerprint, Neurons(layer_widths(store)), seed, options)


def neuron_ranges(args: MineArgs) -> list[Item]:
    """Return the ranges of neurons as items."""
    return [
        {"range": i, "first": first, "stop": stop}
        for i, (first, stop) in enumerate(spans(len(args.neurons), NEURONS_PER_RANGE))
    ]


def sentence_runs(sentences: int) -> list[Item]:
    """Return the runs of so many annotated sentences as items.

    Those of a large corpus are longer: each run costs some time for every pattern that was mined.
    """
    size = max(SENTENCES_PER_COUNT, min(sentences // RUNS, MOST_PER_COUNT))
    return [{"run": i, "first": first, "stop": stop} for i, (first, stop) in enumerate(spans(sentences, size))]


class MiningWorker:
    """What the workers share: the sentences, the kinds of patterns that they have, and the winners.

    Attributes:
        trains: whether a sentence is of a training document of the held-out scores, `[rows]`.
    """

    def __init__(self, args: MineArgs) -> None:
        self.args, self.store, o = args, args.store, args.options
        self.sentences = open_sentences(self.store, CODES, args.sentences)
        self.text = MiningView(self.sentences, o["word_case"], o["subtree_root"] == "collapse", o["punctuation"])
        self.kinds: dict[str, PatternKind] = {}
        for name, column in (("word", "words"), ("tag", "tags")):
            if self.sentences.has[column]:
                gap = o[f"{name}_max_gap"]
                limits = (o[f"{name}_min_support"], o[f"{name}_max_length"], None if gap < 0 else gap)
                self.kinds[name] = SequenceKind(name, self.text, *limits, o["engine"])
        if self.sentences.has["labels"]:
            self.kinds["subtree"] = SubtreeKind(self.text, o["subtree_min_support"], o["subtree_max_nodes"])
        self.trains = training_documents(self.sentences.documents, args.seed)[self.sentences.doc]

    def winners(self, item: Item) -> tuple[Longs, Sequences]:
        """Return the winners of a range's neurons and poles: their `set_number`s, and rows of the store, ascending."""
        first, stop = item["first"], item["stop"]
        numbers, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for part in range(part_of(first), part_of(stop - 1) + 1):
            with self.store.parquet(part_name("topk", part)) as file:
                for group in range(file.num_row_groups):
                    table = file.read_row_group(group, columns=["layer", "unit", "pole", "sent_id"])
                    neuron = self.args.neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy())
                    own = (neuron >= first) & (neuron < stop)
                    pole = pc.index_in(table["pole"], pa.array(POLES)).to_numpy().astype(np.int64)
                    numbers.append(set_number(neuron[own], pole[own]))
                    rows.append(self.sentences.rows(table["sent_id"].to_numpy()[own]))
        number, row = np.concatenate(numbers), np.concatenate(rows)
        row = row[np.lexsort((row, number))]
        each, starts = np.unique(number, return_index=True)
        return each, Sequences(row.astype(np.int32), np.append(starts, len(number)))

    def winner_sets(self, number: Longs, winners: Sequences) -> SentenceSets:
        """Return the winners of neurons and poles as sets that are mined."""
        return SentenceSets.gather(len(MINED) * number, winners, self.sentences)

    def training_sets(self, number: Longs, drawn: Sequences) -> SentenceSets:
        """Return the training halves of what `HeldOut.draw` has drawn for neurons and poles, as sets that are mined."""
        numbers = (len(MINED) * number[:, None] + np.arange(1, len(MINED))).ravel()
        return SentenceSets.gather(numbers, drawn.where(self.trains[drawn.items]), self.sentences)
