"""The workers of the part `shift` of `compare`: text sets are drawn, both models read them, two runs are compared."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch

from jobs.engine.item import Item
from jobs.stage.compare_files import distances_file, runs_file, text_set_file
from jobs.stage.layout import Output
from jobs.steps.mine.workers import commit
from ops.compare.activation_vectors import layer_activations, sampled_sentences
from ops.compare.model_shift import jaccards, layer_distances, rank_correlations
from ops.compare.text_set import sample_sentences
from ops.corpus.sentences import SentenceFilter
from ops.corpus.split_sentences import SentenceSplitter
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import batch_lengths, length_batches
from ops.model.check_states import equal_lengths
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.shards import spans
from ops.sources.pieces import pieces, read_piece
from ops.sources.spec import parse_source
from ops.storage.store import Store
from ops.topk.neurons import POLES, Neurons, set_number

BLOCK = 500  # sentences that one item has


@dataclass(frozen=True)
class ShiftArgs:
    """What the workers are made from."""

    store: Store
    fingerprint: str
    facts: ModelFacts
    against: ModelFacts
    scoring: ScoreOptions
    token_budget: int
    neurons: Neurons
    reading: dict[str, str]
    most: int
    seed: int


class TextSetReader:
    """Draws the sentences of one text set after another."""

    def __init__(self, args: ShiftArgs) -> None:
        self.args, self.tokenizer = args, Tokenizer(args.facts)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read one source and commit a sample of its distinct sentences."""
        splitter = SentenceSplitter() if self.args.reading["split"] == "sentences" else None
        sentence_filter = SentenceFilter(self.tokenizer, splitter)
        rows = (
            row
            for piece in pieces(parse_source(item["spec"]))
            for row in read_piece(piece, self.args.reading["text_column"])
        )
        table, counts = sample_sentences(sentence_filter.blocks(rows), self.args.most, self.args.seed)
        commit(self.args.store, text_set_file(item["number"]), table, self.args.fingerprint)
        return {"number": item["number"], **{name: n for name, n in counts.items() if name != "sentences"}}


def text_set_rows(store: Store, number: int) -> int:
    """Return how many sentences a text set has."""
    with store.parquet(text_set_file(number).path) as file:
        return int(file.metadata.num_rows)


def blocks_of(sizes: list[int]) -> list[Item]:
    """Return the blocks of text sets of these sizes as items."""
    found = [(number, *span) for number, size in enumerate(sizes) for span in spans(size, BLOCK)]
    return [
        {"block": i, "text_set": number, "first": first, "stop": stop}
        for i, (number, first, stop) in enumerate(found)
    ]  # fmt: skip


class Distancer:
    """Has both models read one block of sentences after another, in the same batches."""

    def __init__(self, args: ShiftArgs) -> None:
        self.args, self.store = args, args.store
        self.tokenizers = [Tokenizer(facts) for facts in (args.facts, args.against)]
        self.scorers = [
            Scorer(facts, args.scoring, tokenizer.pad_id)
            for facts, tokenizer in zip((args.facts, args.against), self.tokenizers, strict=True)
        ]
        equal = [equal_lengths(*pair) for pair in zip(self.scorers, self.tokenizers, strict=True)]
        self.lengths = batch_lengths(args.scoring.device, any(equal))

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one block; a sentence that is not finite in either model is left out."""
        with self.store.parquet(text_set_file(item["text_set"]).path) as file:
            own = file.read().slice(item["first"], item["stop"] - item["first"])
        texts, n_tokens = own["text"].to_pylist(), own["n_tokens"].to_numpy()
        layers = len(self.args.neurons.widths)
        found = np.full((2, len(texts), layers), np.nan)
        total = np.zeros(len(self.args.neurons))
        for rows in length_batches(n_tokens, self.args.token_budget, self.lengths):
            batch = [texts[row] for row in rows]
            a, b = (
                scorer.score(tokenizer.encode(batch))
                for scorer, tokenizer in zip(self.scorers, self.tokenizers, strict=True)
            )
            finite = torch.isfinite(torch.cat([*a, *b], 1)).all(1).cpu().numpy()
            first, second = ([layer.cpu().numpy()[finite] for layer in own_layers] for own_layers in (a, b))
            found[:, rows[finite]] = layer_distances(first, second)
            whole = [np.concatenate(side, 1).astype(np.float64) for side in (first, second)]
            total += np.abs(whole[0] - whole[1]).sum(0)
        there = ~np.isnan(found).any((0, 2))
        tables = {"neurons": pa.table({"shift": total}), "distances": listed(*found[:, there])}
        for kind, table in tables.items():
            commit(self.store, distances_file(item["block"], kind), table, self.args.fingerprint)
        return {"sentences": len(texts)}


class RunComparer:
    """Sets the winners and the activation samples of two runs of one corpus beside each other, neuron by neuron."""

    def __init__(self, args: ShiftArgs, other: Store) -> None:
        self.args, self.store, self.other = args, args.store, other

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Commit each neuron's shift, Jaccard index and rank correlation; and the sample's distances by layer."""
        neurons = self.args.neurons
        own, others = sampled_sentences(self.store), sampled_sentences(self.other)
        common, *rows = np.intersect1d(own, others, assume_unique=True, return_indices=True)
        shift, ranks, distances = np.zeros(len(neurons)), np.full(len(neurons), np.nan), []
        start = 0
        for i, width in enumerate(neurons.widths):
            a, b = (
                layer_activations(store, i + 1)[place]
                for store, place in zip((self.store, self.other), rows, strict=True)
            )
            if len(common):
                shift[start : start + width] = np.abs(a.astype(np.float64) - b).mean(0)
                ranks[start : start + width] = rank_correlations(a, b)
            distances.append(np.stack([d[:, 0] for d in layer_distances([a], [b])]))
            start += width
        columns = {"shift": shift, "jaccard": self.jaccards(), "rank_correlation": ranks}
        table = pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})
        manhattan, squares = np.stack(distances, 2)
        commit(self.store, runs_file("distances"), listed(manhattan, squares), self.args.fingerprint)
        commit(self.store, runs_file("neurons"), table, self.args.fingerprint)
        return {"sentences": len(common)}

    def jaccards(self) -> npt.NDArray[np.float64]:
        """Return each neuron's winners in common over those of either run, a part of topk/ at a time."""
        found = np.full(len(self.args.neurons), np.nan)
        files = (store.table_files("topk") for store in (self.store, self.other))
        for own, other in zip(*files, strict=True):
            a, b = self.winners(self.store, own), self.winners(self.other, other)
            measured = jaccards(a, b, len(found))
            found = np.where(np.isnan(measured), found, measured)
        return found

    def winners(self, store: Store, name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the numbers of neurons, and of sentence and pole, of the winners in a part of topk/."""
        with store.parquet(name) as file:
            table = file.read(columns=["layer", "unit", "pole", "sent_id"])
        pole = pc.index_in(table["pole"], pa.array(POLES)).to_numpy().astype(np.int64)
        owner = self.args.neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy())
        return owner, set_number(table["sent_id"].to_numpy(), pole)


def listed(manhattan: npt.NDArray[np.float64], squares: npt.NDArray[np.float64]) -> pa.Table:
    """Return sentences' distances by layer, `[sentences, layers]` each, as a table."""
    lists = {"manhattan": manhattan, "squares": squares}
    return pa.table({n: pa.FixedSizeListArray.from_arrays(pa.array(v.ravel()), v.shape[1]) for n, v in lists.items()})


def read_distances(store: Store, output: Output) -> npt.NDArray[np.float64]:
    """Return what `listed` has put into a file, `[2, sentences, layers]`."""
    with store.parquet(output.path) as file:
        table = file.read()
    columns = [table[name].combine_chunks().flatten().to_numpy() for name in ("manhattan", "squares")]
    return np.stack(columns).reshape(2, table.num_rows, -1)
