"""The steps of `topk` that score: a pilot sample fixes the histograms' edges, then shard after shard is scored."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.layout import pilot_file, shard_file
from jobs.stage.step import Step
from jobs.steps.topk.thresholds import BoundPublisher, BoundReader
from ops.corpus.read_shard import read_shard
from ops.errors import InputError
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import Lengths, batch_lengths, encode_batches
from ops.model.check_states import check_layers, padding_leaks, spread_lengths
from ops.model.load import ModelFacts
from ops.model.numerics import check_gpu, gpu_kind
from ops.model.token_block import TokenBlock
from ops.model.tokenizer import Tokenizer
from ops.reducers.histogram import edges_from_pilot
from ops.sampling import PILOT, draw, pilot_size
from ops.shards import Ids, Shards
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.topk import partial_file as topk_partial
from ops.topk.score_shard import Floats, ShardScorer, score_batch

Batches = Iterator[tuple[Ids, TokenBlock]]


@dataclass(frozen=True)
class ScoreArgs:
    """What every scoring worker is made from; whether padding leaks is known once the pilot is scored."""

    store: Store
    facts: ModelFacts
    options: ScoreOptions
    k: int
    poles: tuple[str, ...]
    token_budget: int
    fingerprint: str
    sharing: bool = True
    leaks: bool = False

    @property
    def lengths(self) -> Lengths:
        """Which lengths a batch may hold."""
        return batch_lengths(self.options.device, self.leaks)


def prepare_shard(item: Item, args: ScoreArgs) -> list[tuple[Ids, TokenBlock]]:
    """Read and tokenize one shard, batch by batch, on cores of its own (with GPUs)."""
    corpus = read_shard(args.store, item["shard"])
    return list(encode_batches(*corpus, Tokenizer(args.facts), args.token_budget, args.lengths))


def pilot_step(job: CorpusPass, args: ScoreArgs, at_most: int) -> Step:
    """Return the step that scores a sample of at most so many sentences and fixes the histograms' edges."""
    item = {"sentences": job.shards.sentences, "size": job.shards.size, "seed": job.args.seed, "pilot": at_most}
    outputs, holds = [pilot_file()], job.placement.holds
    return Step("topk: pilot", [item], lambda _: outputs, PilotScorer, {"args": args}, holds=holds, actors=True)


def read_widths(store: Store) -> tuple[int, ...]:
    """Return the units of each layer, as the pilot found them."""
    return tuple(_read_footer(store, b"atlas.widths"))


def needs_equal_lengths(store: Store) -> bool:
    """Tell whether padding changes what the model computes, as the pilot found."""
    return bool(_read_footer(store, b"atlas.alike"))


def _read_footer(store: Store, key: bytes) -> Any:
    with store.parquet(pilot_file().path) as file:
        return json.loads(file.schema_arrow.metadata.get(key, b"null"))


def score_shards(job: CorpusPass, args: ScoreArgs, sampled: list[Ids]) -> list[Item]:
    """Score the shards whose partial files are missing or not whole, and return their workers' rows.

    Args:
        job: the pass.
        args: what the workers are made from.
        sampled: the sentences of the activation sample in each shard.
    """
    prepare = partial(prepare_shard, args=args) if job.placement.reads_ahead else None
    step = job.shard_step(ShardWorker, {"args": args}, prepare)
    step = replace(step, items=[{**item, "sample": sampled[item["shard"]].tolist()} for item in step.items])
    todo = job.stage.missing(step)
    if not args.sharing or min(job.placement.workers or len(todo), len(todo)) < 2:
        return job.do(replace(step, args={"args": replace(args, sharing=False)}), todo=todo)
    publisher = BoundPublisher(job.stage.store, args.fingerprint, args.k)
    with ThreadPoolExecutor(1) as beside:

        def publish(row: Item) -> None:
            beside.submit(publisher.add, [row["shard"]])

        # Bounds that come late cost size alone: no worker's row waits for them.
        beside.submit(publisher.add, set(range(len(job.shards))) - {item["shard"] for item in todo})
        try:
            return job.do(step, todo=todo, each=publish)
        finally:
            beside.shutdown(cancel_futures=True)


class PilotScorer:
    """Scores the pilot and commits every neuron's histogram edges."""

    def __init__(self, args: ScoreArgs) -> None:
        self.args, self.store = args, args.store
        self.tokenizer = Tokenizer(args.facts)
        self.scorer = Scorer(args.facts, args.options, self.tokenizer.pad_id)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Score a seeded sample and fix the edges."""
        shards = Shards(item["sentences"], item["size"])
        ids = draw(shards.sentences, pilot_size(shards.sentences, item["pilot"]), item["seed"], PILOT)
        some = [(i, rows) for i, rows in enumerate(shards.split(ids)) if len(rows)]
        parts = list(side_by_side(lambda own: read_shard(self.store, *own), some))
        sent_ids, n_tokens = (np.concatenate([p[column] for p in parts]) for column in (0, 2))
        texts = [text for p in parts for text in p[1]]
        leaks = self._check([texts[i] for i in spread_lengths(n_tokens.tolist())])
        budget, lengths = self.args.token_budget, replace(self.args, leaks=leaks).lengths
        blocks = []
        for _, tokens in encode_batches(sent_ids, texts, n_tokens, self.tokenizer, budget, lengths):
            values, finite, _ = score_batch(self.scorer, tokens)
            blocks.append(values[finite].cpu())
        pilot = torch.cat(blocks)
        if not len(pilot):
            raise InputError(
                f"--model {self.args.facts.name}: gave no finite activation for any of {len(ids)} sentences; "
                "try --dtype float32, or another model"
            )
        edges = edges_from_pilot(pilot)
        table = pa.table({"edges": topk_partial.by_neuron(edges.numpy())})
        footer = {
            **pilot_file().footer(self.args.fingerprint, len(edges)),
            b"atlas.widths": json.dumps(self.scorer.widths()).encode(),
            b"atlas.alike": json.dumps(leaks).encode(),
            b"atlas.gpu": json.dumps(gpu_kind()).encode(),
        }
        self.store.commit(pilot_file().path, lambda path: topk_partial.write_table(path, table, footer))
        return {"sentences": len(ids)}

    def _check(self, texts: list[str]) -> bool:
        """Refuse a model whose states are not what they seem; tell whether it needs batches of equal length."""
        tokens = self.tokenizer.encode(texts)
        check_layers(self.scorer, tokens)
        return padding_leaks(self.scorer, tokens)


class ShardWorker:
    """Scores shards and commits each one's partial file."""

    def __init__(self, args: ScoreArgs) -> None:
        self.args, self.store = args, args.store
        self.tokenizer = Tokenizer(args.facts)
        if args.options.device == "cuda":
            check_gpu(_read_footer(self.store, b"atlas.gpu"), gpu_kind())
        with self.store.parquet(pilot_file().path) as file:
            edges = topk_partial.read_matrix(file.read(), "edges")
        self.newer_bounds: Callable[[], tuple[Floats, Floats] | None] = lambda: None
        if args.sharing:
            self.newer_bounds = BoundReader(self.store, args.fingerprint, len(edges))
        scorer = Scorer(args.facts, args.options, self.tokenizer.pad_id)
        self.shards = ShardScorer(scorer, args.k, args.poles, torch.from_numpy(edges.copy()), args.options.never_waits)
        self.shards.warm_up(args.token_budget, args.facts.position_limit)

    def __call__(self, item: Item, prepared: list[tuple[Ids, TokenBlock]] | None) -> Item:
        """Score one shard; the row carries its start and end by the wall clock, and seconds of processor time."""
        began, cpu = time.time(), time.process_time()
        batches: Batches
        if prepared is None:
            corpus = read_shard(self.store, item["shard"])
            batches = encode_batches(*corpus, self.tokenizer, self.args.token_budget, self.args.lengths)
        else:
            batches = iter(prepared)
        first, stop = item["span"]
        result = self.shards.run((first, stop), batches, np.array(item["sample"], np.int64), self.newer_bounds)
        lost = sum(len(ids) for ids in result.unscored.values())
        if result.scored + lost != stop - first:
            raise RuntimeError(
                f"topk: shard {item['shard']} holds {stop - first} sentences, "
                f"{result.scored} were scored and {lost} not"
            )
        output = shard_file("topk", item["shard"])
        notes = {"unscored": result.unscored, "sampled": result.sampled, "tokens": result.tokens}
        footer = {
            **output.footer(self.args.fingerprint, result.table.num_rows),
            b"atlas.notes": json.dumps(notes).encode(),
        }
        self.store.commit(output.path, lambda path: topk_partial.write_table(path, result.table, footer))
        took = {"began": began, "ended": time.time(), "cpu": time.process_time() - cpu}
        return {"shard": item["shard"], "sentences": stop - first, **took}
