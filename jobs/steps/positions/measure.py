"""The steps of `positions`: a pilot finds the mean states, and every shard is measured."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass, PassArgs
from jobs.stage.layout import pilot_file, shard_file
from jobs.stage.runner import Step
from ops.errors import InputError
from ops.mixing.token_classes import TokenClasses
from ops.model.batches import batch_lengths
from ops.model.numerics import set_numerics
from ops.positions.encode import Encoder, Encoding, with_answers
from ops.positions.labels import Labelled
from ops.positions.partial_file import to_table, write_partial
from ops.positions.pilot import mean_states, pilot_size, pilot_table, read_pilot
from ops.positions.reader import VariantReader
from ops.positions.shard import Batches, PositionsScorer
from ops.sampling import PILOT, draw
from ops.shards import Ids, Shards
from ops.storage.tables import part_name


@dataclass(frozen=True)
class PositionsArgs(PassArgs):
    """What every worker is made from."""

    variants: tuple[str, ...]
    shift: int
    encoding: Encoding
    answer_column: str | None


def pilot_step(job: CorpusPass, args: PositionsArgs) -> Step:
    """Return the step that finds each layer's mean state under every variant, by a seeded sample of texts."""
    item = {"sentences": job.shards.sentences, "size": job.shards.size}
    outputs, holds = [pilot_file("positions")], job.placement.holds
    return Step("positions: pilot", [item], lambda _: outputs, PilotReader, {"args": args}, holds=holds, actors=True)


def measure_step(job: CorpusPass, args: PositionsArgs, texts: Labelled | None) -> Step:
    """Return the step that measures the shards.

    Args:
        job: the pass.
        args: what the workers are made from.
        texts: those of the label check, in the order of their ids; None without one.
    """
    prepare = partial(prepare_shard, args=args) if job.placement.reads_ahead else None
    step = job.shard_step(PositionsWorker, {"args": args}, prepare)
    sampled = job.shards.split(np.array(texts.sent_ids if texts else [], np.int64))
    return replace(step, items=[{**item, "sample": sampled[item["shard"]].tolist()} for item in step.items])


def prepare_shard(item: Item, args: PositionsArgs) -> list[Any]:
    """Read and tokenize one shard on cores of its own (with GPUs)."""
    return list(batches(args, Encoder(args.facts, args.encoding), item["parts"]))


def batches(args: PositionsArgs, encoder: Encoder, parts: list[int], rows: Ids | None = None) -> Batches:
    """Return the batches of some parts of corpus/, or of those of one part's sentences whose ids are given."""
    meta = [] if args.answer_column is None else ["meta"]
    tables = []
    for part in parts:
        with args.store.parquet(part_name("corpus", part)) as file:
            tables.append(file.read(columns=["sent_id", "text", *meta]))
    table = pa.concat_tables(tables)
    if rows is not None:
        table = table.filter(pa.array(np.isin(table["sent_id"].to_numpy(), rows)))
    texts = table["text"].to_pylist()
    if args.answer_column is not None:
        texts = with_answers(texts, [row[args.answer_column] for row in table["meta"].to_pylist()])
    return encoder.batches(table["sent_id"].to_numpy(), texts, args.token_budget, batch_lengths(args.device))


class PilotReader:
    """Finds the mean states and commits them, with the norms of the position embeddings."""

    def __init__(self, args: PositionsArgs) -> None:
        set_numerics(args.device, args.threads, args.dtype)
        self.args = args
        self.encoder = Encoder(args.facts, args.encoding)
        self.reader = VariantReader(args.facts, args.device, args.dtype, args.shift, args.seed)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read the sample."""
        args, shards = self.args, Shards(item["sentences"], item["size"])
        ids = draw(shards.sentences, pilot_size(shards.sentences), args.seed, PILOT)
        parts = [(i, rows) for i, rows in enumerate(shards.split(ids)) if len(rows)]
        texts = (batch for i, rows in parts for batch in batches(args, self.encoder, [i], rows))
        pad_id = self.encoder.tokenizer.pad_id
        means, scored = mean_states(self.reader, args.variants, texts, pad_id, args.device)
        if not scored:
            raise InputError(
                f"--model {args.facts.name}: gave no finite state for any of {len(ids)} texts; "
                "try --dtype float32, or another model"
            )
        table = pilot_table(means, self.reader.positions.norms().numpy())
        footer = pilot_file("positions").footer(args.fingerprint, table.num_rows)
        args.store.commit(
            pilot_file("positions").path, lambda path: write_partial(path, table, {"texts": scored}, footer)
        )
        return {"sentences": len(ids)}


class PositionsWorker:
    """Measures shard after shard and commits each one's partial file."""

    def __init__(self, args: PositionsArgs) -> None:
        set_numerics(args.device, args.threads, args.dtype)
        self.args, self.store = args, args.store
        self.encoder = Encoder(args.facts, args.encoding)
        with self.store.parquet(pilot_file("positions").path) as file:
            means, _ = read_pilot(file.read())
        tokenizer = self.encoder.tokenizer
        self.scorer = PositionsScorer(
            VariantReader(args.facts, args.device, args.dtype, args.shift, args.seed),
            TokenClasses(tokenizer), args.variants, means, tokenizer.pad_id, self.encoder.limit, args.device,
        )  # fmt: skip

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one shard."""
        own = batches(self.args, self.encoder, item["parts"]) if prepared is None else iter(prepared)
        result = self.scorer.measure_shard(own, item["sample"])
        first, stop = item["span"]
        if result.scored + len(result.unscored) != stop - first:
            raise RuntimeError(
                f"positions: shard {item['shard']} holds {stop - first} sentences, "
                f"{result.scored} were measured and {len(result.unscored)} not"
            )
        names = ("scored", "unscored", "truncated", "tokens", "beyond", "unpredicted")
        table, output = to_table(result), shard_file("positions", item["shard"])
        footer = output.footer(self.args.fingerprint, table.num_rows)
        notes = {name: getattr(result, name) for name in names}
        self.store.commit(output.path, lambda path: write_partial(path, table, notes, footer))
        return {"sentences": stop - first}
