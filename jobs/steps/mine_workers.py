"""What all workers of `mine` are made from and share: the ranges of neurons, the sentences, the winners."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.layout import CODES, Output
from ops.mine.candidates import Winners
from ops.mine.pattern_kinds import PatternKind, SequenceKind, SubtreeKind
from ops.sentences.mining_view import MiningView
from ops.sentences.store import open_sentences
from ops.shards import spans
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk.neurons import POLES, Neurons, part_of, set_number

NEURONS_PER_RANGE = 64
SENTENCES_PER_COUNT = 50_000


@dataclass(frozen=True)
class MineArgs:
    """What every mining worker is made from; `sentences` is the annotate stage's fingerprint."""

    out: str
    sentences: str
    fingerprint: str
    neurons: Neurons
    seed: int
    options: dict[str, Any]


def mine_args(out: str, annotate: str, fingerprint: str, seed: int, options: dict[str, Any]) -> MineArgs:
    """Return what the workers are made from.

    Args:
        out: the run's folder.
        annotate, fingerprint: the fingerprints of `annotate`, whose sentences are mined, and of `mine`.
        seed, options: as chosen.
    """
    return MineArgs(out, annotate, fingerprint, Neurons(layer_widths(Store(out))), seed, options)


def layer_widths(store: Store) -> tuple[int, ...]:
    """Return the units of each layer, from `activations/`."""
    with store.parquet(part_name("activations", 0)) as file:
        return tuple(field.type.list_size for field in file.schema_arrow if field.name.startswith("layer_"))


def neuron_ranges(args: MineArgs) -> list[Item]:
    """Return the ranges of neurons as items."""
    return [
        {"range": i, "first": first, "stop": stop}
        for i, (first, stop) in enumerate(spans(len(args.neurons), NEURONS_PER_RANGE))
    ]


def sentence_runs(args: MineArgs) -> list[Item]:
    """Return the runs of the annotated sentences as items."""
    sentences = open_sentences(Store(args.out), CODES, args.sentences)
    return [
        {"run": i, "first": first, "stop": stop}
        for i, (first, stop) in enumerate(spans(len(sentences.sent_id), SENTENCES_PER_COUNT))
    ]


class MiningWorker:
    """What the workers share: the sentences, the kinds of patterns that they have, and the winners."""

    def __init__(self, args: MineArgs) -> None:
        self.args, self.store, o = args, Store(args.out), args.options
        self.sentences = open_sentences(self.store, CODES, args.sentences)
        self.text = MiningView(self.sentences, o["word_case"], o["subtree_root"] == "collapse")
        self.kinds: dict[str, PatternKind] = {}
        for name, column in (("word", "words"), ("tag", "tags")):
            if self.sentences.has[column]:
                gap = o[f"{name}_max_gap"]
                limits = (o[f"{name}_min_support"], o[f"{name}_max_length"], None if gap < 0 else gap)
                self.kinds[name] = SequenceKind(name, self.text, *limits, o["engine"])
        if self.sentences.has["labels"]:
            self.kinds["subtree"] = SubtreeKind(self.text, o["subtree_min_support"], o["subtree_max_nodes"])

    def winners(self, first: int, stop: int) -> Iterator[Winners]:
        """Return the winners of each neuron from `first` to `stop` - 1 and pole, numbered by `set_number`."""
        for part in range(part_of(first), part_of(stop - 1) + 1):
            with self.store.parquet(part_name("topk", part)) as file:
                table = file.read(columns=["layer", "unit", "pole", "sent_id"])
            neuron = self.args.neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy())
            pole = pc.index_in(table["pole"], pa.array(POLES)).to_numpy().astype(np.int64)
            number = set_number(neuron, pole)
            ids = table["sent_id"].to_numpy()
            for own in np.unique(number[(neuron >= first) & (neuron < stop)]):
                begin, end = np.searchsorted(number, [own, own + 1])
                rows = self.sentences.rows(ids[begin:end])
                rows.sort()
                yield Winners(int(own), rows, np.asarray(self.sentences.baseline[rows]), self.sentences.doc[rows])


def commit(store: Store, output: Output, table: pa.Table, fingerprint: str) -> None:
    """Commit a partial file."""
    described = table.replace_schema_metadata(output.footer(fingerprint, table.num_rows))
    store.commit(output.path, lambda local: pq.write_table(described, local, compression="zstd"))
