"""The step of `topk` that scores shard after shard."""

import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.layout import pilot_file, shard_file
from jobs.steps.topk.pilot import ScoreArgs, read_footer
from jobs.steps.topk.thresholds import BoundPublisher, BoundReader
from ops.corpus.read_shard import read_shard
from ops.model.activations import Scorer
from ops.model.batches import encode_batches
from ops.model.numerics import check_gpu, gpu_kind
from ops.model.token_block import TokenBlock
from ops.model.tokenizer import Tokenizer
from ops.shards import Ids
from ops.topk import partial_file as topk_partial
from ops.topk.score_shard import Floats, ShardScorer

Batches = Iterator[tuple[Ids, TokenBlock]]


def prepare_shard(item: Item, args: ScoreArgs) -> list[tuple[Ids, TokenBlock]]:
    """Read and tokenize one shard, batch by batch, on cores of its own (with GPUs)."""
    corpus = read_shard(args.store, item["shard"])
    return list(encode_batches(*corpus, Tokenizer(args.facts), args.token_budget, args.lengths))


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
        # Bounds that come late cost size alone: no worker's row waits for them.
        waiting = deque(set(range(len(job.shards))) - {item["shard"] for item in todo})

        def publish(row: Item) -> None:
            waiting.append(row["shard"])
            beside.submit(publisher.add_all, waiting)

        beside.submit(publisher.add_all, waiting)
        try:
            return job.do(step, todo=todo, each=publish)
        finally:
            beside.shutdown(cancel_futures=True)


class ShardWorker:
    """Scores shards and commits each one's partial file."""

    def __init__(self, args: ScoreArgs) -> None:
        self.args, self.store = args, args.store
        self.tokenizer = Tokenizer(args.facts)
        if args.options.device == "cuda":
            check_gpu(read_footer(self.store, b"atlas.gpu"), gpu_kind())
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
