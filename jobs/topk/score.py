"""The workers of `topk`: a model scores the pilot, which fixes what shards share, and the shards, which are merged."""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from jobs.engine.item import Item
from jobs.engine.under_way import counting
from jobs.stage.dictionaries import ScorerArgs
from jobs.stage.outputs import Written, partial_file, shard_file
from jobs.stage.ranges import range_part
from jobs.stage.step import Made
from ops.arrays import Float32s, Float64s
from ops.corpus.corpus_tokens import CorpusTokens, KeptTokens, block_batches
from ops.dictionaries.reconstruction import Explained
from ops.errors import InputError, counted, one_line
from ops.model.batches import TokenBlock
from ops.model.check_states import check_layers, padding_leaks, spread_lengths
from ops.model.numerics import check_gpu, gpu_kind
from ops.model.tokenizer import Tokenizer, Tokens, token_excess
from ops.reducers.histogram import edges_from_pilot, edges_of_sparse
from ops.sampling import PILOT, draw, pilot_size
from ops.shards import Ids, Shards
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.topk.datasets import NO_DATASETS, Datasets
from ops.topk.neurons import Neurons
from ops.topk.partial_file import DAMAGE, MERGED_COLUMNS, read_matrix
from ops.topk.pilot import Pilot
from ops.topk.score_shard import ShardScorer, score_batch
from ops.topk.shared_bounds import BoundReader
from ops.topk.silent import largest_by_layer
from ops.topk.tables import RangeSums

if TYPE_CHECKING:
    from ops.dictionaries.scorer import DictionaryScorer

PILOT_FILE = partial_file("topk", "pilot")
# A file of bounds that workers share; it may be lost, and is not an output of any item.
BOUNDS = partial_file("topk", "bound").path

# Most bytes of a partial file that is written while the next shard is scored. A larger file, such as a worker's first
# file at a large K, is written before the next shard begins, some neurons at a time.
HELD_BYTES = 1 << 29

TABLES, BY_DATASET = ("neurons", "topk"), "topk_by_dataset"
SHARDS_AHEAD = 2  # shards that a worker reads ahead
EXPLAINED_BATCHES = 16  # number of batches of the pilot, from long sentences to short ones

Batches = Iterator[tuple[Ids, TokenBlock]]


@dataclass(frozen=True, kw_only=True)
class ScoreArgs(ScorerArgs):
    """The arguments of every scoring worker; `equal_lengths` is known once the pilot is scored.

    Attributes:
        kept: where ingest stored the tokens of corpus/; None if it stored none.
    """

    fingerprint: str
    k: int
    poles: tuple[str, ...]
    token_budget: int
    kept: KeptTokens | None = None
    sharing: bool = True
    equal_lengths: bool = False
    datasets: Datasets = NO_DATASETS

    @property
    def sparse(self) -> bool:
        """Whether the units are sparse features."""
        return bool(self.dictionaries) and self.dictionaries[0].sparse


class PilotScorer:
    """Scores the pilot, which gives the histogram edges of every neuron."""

    def __init__(self, args: ScoreArgs) -> None:
        self.args, self.store = args, args.store
        self.tokenizer = tokenizer = Tokenizer(args.facts)
        self.tokens = CorpusTokens(args.store, args.kept, lambda: tokenizer)
        self.scorer = args.scorer(tokenizer.pad_id)

    def __call__(self, item: Item) -> Made:
        """Score a seeded sample and fix the edges of the histograms."""
        shards = Shards(item["sentences"], item["size"])
        ids = draw(shards.sentences, pilot_size(shards.sentences, item["pilot"]), item["seed"], PILOT)
        some = [(i, rows) for i, rows in enumerate(shards.split(ids)) if len(rows)]
        parts = list(side_by_side(lambda shard_rows: self.tokens.read(*shard_rows), some))
        sent_ids, tokens = np.concatenate([p[0] for p in parts]), TokenBlock.joined([p[1] for p in parts])
        excess = token_excess(tokens, self.tokenizer, self.args.facts.name)
        some_tokens = [tokens[i] for i in spread_lengths(tokens.lengths.tolist())]
        check_layers(self.scorer, some_tokens)
        equal_lengths = padding_leaks(self.scorer, some_tokens)
        budget = self.args.token_budget
        blocks: list[torch.Tensor] = []
        for _, batch in block_batches(sent_ids, tokens, budget, equal_lengths):
            values, finite, _ = score_batch(self.scorer, batch)
            good = values[finite].cpu()
            # There may be a million sparse features; their edges depend only on their highest activations.
            blocks = (
                [torch.cat([*blocks, good]).amax(0, keepdim=True)]
                if self.args.sparse and len(good)
                else [*blocks, good]
            )
        scored = torch.cat(blocks)
        if not len(scored):
            self._no_finite(len(ids), some_tokens)
        edges = (edges_of_sparse(scored.amax(0)) if self.args.sparse else edges_from_pilot(scored)).numpy()
        explained = self._explained(block_batches(sent_ids, tokens, budget, equal_lengths))
        pilot = Pilot(edges, self.args.neurons, equal_lengths, gpu_kind(), explained, excess)
        return {PILOT_FILE: Written(len(pilot.edges), pilot.write)}

    @property
    def of_features(self) -> "DictionaryScorer | None":
        """The scorer, if the units are features."""
        return cast("DictionaryScorer", self.scorer) if self.args.dictionaries else None

    def _explained(self, batches: Batches) -> tuple[float | None, ...]:
        """Return the share of its target's variance that each sparse dictionary explains, on some pilot batches."""
        scorer = self.of_features
        if scorer is None:
            return ()
        sums = [
            Explained(self.args.facts.width if d.target.place != "heads" else d.width) if d.target else None
            for d in self.args.dictionaries
        ]
        every = list(batches)
        for _, batch in every[:: max(len(every) // EXPLAINED_BATCHES, 1)]:
            scorer.explained(batch, sums)
        return tuple(explained.share() if explained is not None else None for explained in sums)

    def _no_finite(self, sentences: int, some: list[Tokens]) -> NoReturn:
        """Raise the error for a pilot without a single finite sentence, which names the dictionary or the model."""
        reason = f"gave no finite activation for any of {counted(sentences, 'sentence')}"
        dictionary = self.of_features.overflowing(some) if self.of_features else None
        if dictionary is not None:
            why = f"{reason}, although the states are finite: its weights are too large for float32"
            raise dictionary.asked.error(why)
        raise InputError(f"--model {self.args.facts.name}: {reason}; try --dtype float32, or another model")


def prepare_shard(item: Item, args: ScoreArgs) -> list[tuple[Ids, TokenBlock]]:
    """Read the tokens of one shard, batch by batch; with GPUs, this runs on separate cores."""
    return list(shard_batches(item, args, lambda: Tokenizer(args.facts)))


def shard_batches(item: Item, args: ScoreArgs, tokenizer: Callable[[], Tokenizer]) -> Batches:
    """Return the batches of one shard."""
    return CorpusTokens(args.store, args.kept, tokenizer).batches(item["shard"], args.token_budget, args.equal_lengths)


class ShardWorker:
    """Scores shards and commits their partial files, as the two parts of a `TwoPartWorker`."""

    def __init__(self, args: ScoreArgs) -> None:
        self.args, self.store = args, args.store
        self.tokenizer = Tokenizer(args.facts)
        pilot = Pilot.read(self.store, PILOT_FILE.path)
        if args.options.device == "cuda":
            check_gpu(pilot.gpu, gpu_kind())
        self.newer_bounds: Callable[[], tuple[Float32s, ...] | None] = lambda: None
        if args.sharing:
            self.newer_bounds = BoundReader(self.store, BOUNDS, args.fingerprint, len(pilot.edges))
        scorer = args.scorer(self.tokenizer.pad_id)
        edges = torch.from_numpy(pilot.edges.copy())
        self.neurons = pilot.neurons
        self.layer, _ = self.neurons.layer_and_unit(np.arange(len(pilot.edges)))
        self.shards = ShardScorer(scorer, args.k, args.poles, edges, args.options.never_waits, datasets=args.datasets)
        self.shards.warm_up(args.token_budget, args.facts.position_limit)
        self.name, self.cpu_counted = uuid.uuid4().hex, time.process_time()

    def __call__(self, item: Item, prepared: list[tuple[Ids, TokenBlock]] | None) -> Item:
        """Score one shard and commit it."""
        return self.begin(item, prepared)()

    def begin(self, item: Item, prepared: list[tuple[Ids, TokenBlock]] | None) -> Callable[[], Item]:
        """Score one shard, and return a function that commits it and returns its row in the form that `Times` reads."""
        began = time.time()
        batches = shard_batches(item, self.args, lambda: self.tokenizer) if prepared is None else iter(prepared)
        first, stop = item["span"]
        sample = np.array(item["sample"], np.int64)
        rows, totals = self.shards.run((first, stop), counting(batches), sample, self.newer_bounds)
        lost = sum(len(ids) for ids in totals.unscored.values())
        if totals.scored + lost != stop - first:
            raise RuntimeError(
                f"topk: shard {item['shard']} holds {stop - first} sentences, "
                f"{totals.scored} were scored and {lost} not"
            )
        notes = {"unscored": totals.unscored, "sampled": totals.sampled, "tokens": totals.tokens}
        low, high = totals.moments.min, totals.moments.max
        notes["largest"] = largest_by_layer(self.layer, low, high, self.neurons).tolist()
        output = shard_file("topk", item["shard"])

        def commit() -> Item:
            output.commit(self.store, Written(rows.in_file, rows.write, notes), self.args.fingerprint)
            # Processor time of this process since the last row, because parts of two shards overlap.
            cpu, self.cpu_counted = time.process_time() - self.cpu_counted, time.process_time()
            took = {"worker": self.name, "began": began, "ended": time.time(), "cpu": cpu}
            return {"shard": item["shard"], "sentences": stop - first, **took}

        if rows.hold(HELD_BYTES):
            return commit
        row = commit()
        return lambda: row


def tables_of(datasets: Datasets) -> tuple[str, ...]:
    """Return the tables that are written in parts, one for each range of neurons."""
    return (*TABLES, BY_DATASET) if datasets.k else TABLES


@dataclass
class RangeMerger:
    """Merges the winners, moments and histograms of all shards for ranges of neurons.

    Attributes:
        shards: number of shards.
        largest: the largest absolute activation of each layer, `[layers]`.
    """

    store: Store
    neurons: Neurons
    shards: int
    k: int
    poles: tuple[str, ...]
    largest: Float64s
    datasets: Datasets = NO_DATASETS

    def __post_init__(self) -> None:
        torch.set_num_threads(1)

    def __call__(self, item: Item) -> Mapping[Any, Any]:
        """Merge one range in the order of the shards, so that rounding is always the same; or say which are damaged."""
        sums = RangeSums(item["first"], item["stop"], self.k, self.poles, self.datasets)
        damaged: dict[int, str] = {}
        # Two parts are in memory, but many files are opened ahead: on object storage each takes two requests.
        opened = side_by_side(self._open, range(self.shards))
        for shard, read in enumerate(side_by_side(partial(self._read, item["range"]), opened, SHARDS_AHEAD)):
            if isinstance(read, str):
                damaged[shard] = read
            else:
                sums.update(read)
        if damaged:
            return {"damaged": damaged}
        with self.store.parquet(PILOT_FILE.path) as file:
            edges = read_matrix(file.read_row_group(item["range"]), "edges")
        tables = sums.tables(self.neurons, edges, self.largest)
        return {range_part(table, item): tables[table] for table in tables_of(self.datasets)}

    def _open(self, shard: int) -> pq.ParquetFile | str:
        """Return a shard's partial file, or the error message if it cannot be opened."""
        try:
            return self.store.parquet(shard_file("topk", shard).path)
        except DAMAGE as error:
            return one_line(error, 100)

    def _read(self, part: int, opened: pq.ParquetFile | str) -> pa.Table | str:
        """Return a range's part of a shard's partial file, or the error message if it cannot be read."""
        if isinstance(opened, str):
            return opened
        try:
            with opened as file:
                return file.read_row_group(part, columns=MERGED_COLUMNS)
        except DAMAGE as error:
            return one_line(error, 100)
