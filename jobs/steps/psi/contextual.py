"""The step of the contextual part of `psi`: the model reads groups of shards, whose moments become psi/contextual."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow.parquet as pq
import torch

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass, PassArgs
from jobs.stage.layout import shard_file
from jobs.stage.run import Run
from jobs.stage.runner import Step
from ops.corpus.read_shard import read_shard
from ops.figures import figure_files
from ops.model.batches import batch_lengths, encode_batches
from ops.model.head_projections import head_projections, word_embeddings
from ops.model.load import ModelFacts, load_model
from ops.model.numerics import set_numerics
from ops.model.token_block import TokenBlock
from ops.model.tokenizer import Tokenizer
from ops.psi.contextual import ContextualPsi
from ops.psi.figures import draw_contextual
from ops.psi.psi import VALUES
from ops.psi.tables import contextual_rows
from ops.reducers.token_moments import TokenMoments, TokenSums
from ops.schema import schema
from ops.shards import Ids, Shards
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.storage.tables import write_part

CONTEXTUAL = "psi/contextual"
FIGURE = "psi/figures/static_contextual.svg"
PARTIALS_BYTES = 16e9


Batches = list[tuple[Ids, TokenBlock]]


def group_step(job: CorpusPass) -> Step:
    """Return the step that reads the groups of shards."""
    prepare = partial(prepare_group, args=job.args) if job.placement.reads_ahead else None
    return job.shard_step(GroupReader, {"args": job.args}, prepare)


def prepare_group(item: Item, args: PassArgs) -> list[Batches]:
    """Read and tokenize the shards of one group on cores of its own (with GPUs)."""
    tokenizer = Tokenizer(args.facts)
    return [list(shard_batches(args, part, tokenizer)) for part in item["parts"]]


def shard_batches(args: PassArgs, part: int, tokenizer: Tokenizer) -> Iterator[tuple[Ids, TokenBlock]]:
    """Return the batches of one shard."""
    lengths = batch_lengths(args.device)
    return encode_batches(*read_shard(args.store, part), tokenizer, args.token_budget, lengths)


class GroupReader:
    """Runs the model over groups of shards and commits the moments of the tokens that occur in each.

    Takes 16 bytes for each token of the vocabulary, layer, head and value (140 MB for the packaged model, 280 MB for
    bert-base), and twice that more while it commits.
    """

    def __init__(self, args: PassArgs) -> None:
        set_numerics(args.device, args.threads)
        self.args, self.store = args, args.store
        self.tokenizer, self.device = Tokenizer(args.facts), torch.device(args.device)
        model = load_model(args.facts, args.device, args.dtype)
        self.reader = ContextualPsi(model, head_projections(model, args.facts))
        self.vocabulary = len(word_embeddings(model, args.facts))
        self.columns = len(self.reader.layers) * len(VALUES) * self.reader.heads

    def __call__(self, item: Item, prepared: list[Batches] | None) -> Item:
        """Read one group's shards in their order."""
        sums = TokenSums(self.vocabulary, self.columns, self.device)
        unscored: list[int] = []
        for place, part in enumerate(item["parts"]):
            batches = shard_batches(self.args, part, self.tokenizer) if prepared is None else prepared[place]
            for ids, tokens in batches:
                unscored += self.reader.add(ids, tokens, self.tokenizer.pad_id, sums)
        moments = sums.result()
        table, number = moments.to_table(), item["shard"]
        sentences = item["span"][1] - item["span"][0]
        notes = {"sentences": sentences, "unscored": sorted(unscored), "tokens": int(moments.count.sum())}
        output = shard_file(CONTEXTUAL, number)
        footer = {
            **output.footer(self.args.fingerprint, table.num_rows),
            b"atlas.notes": json.dumps(notes).encode(),
        }
        described = table.replace_schema_metadata(footer)
        self.store.commit(output.path, lambda path: pq.write_table(described, path, compression="zstd"))
        return {"shard": number, "sentences": sentences}


def read_group(store: Store, number: int) -> tuple[TokenMoments, dict[str, Any]]:
    """Return a group's moments and what its file says besides: sentences, those left out, tokens."""
    with store.parquet(shard_file(CONTEXTUAL, number).path) as file:
        notes: dict[str, Any] = json.loads(file.schema_arrow.metadata[b"atlas.notes"])
        return TokenMoments.from_table(file.read()), notes


def default_group_size(record: Run, facts: ModelFacts) -> int:
    """Return how many shards are to share a partial file."""
    static, corpus = record.require("psi")["counts"], record.require("ingest")
    shards = Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"])
    return fitting_group_size(len(shards), static["tokens"] * facts.layers * len(VALUES) * static["heads"] * 16)


def fitting_group_size(shards: int, partial_bytes: int) -> int:
    """Return how many shards share a partial file, so that all files together stay below `PARTIALS_BYTES`."""
    return -(-shards // max(int(PARTIALS_BYTES // partial_bytes), 1))


def publish(job: CorpusPass, layers: int, heads: int) -> None:
    """Merge the groups in their order, write psi/contextual, and record the counts."""
    store = job.stage.store
    moments = TokenMoments.empty(layers * len(VALUES) * heads)
    unscored: list[int] = []
    counted = 0
    for found, notes in side_by_side(partial(read_group, store), range(len(job.shards)), 2):
        moments = moments.merge(found)
        unscored += notes["unscored"]
        counted += notes["tokens"]
    rows = contextual_rows(moments, layers, heads)
    write_part(store, CONTEXTUAL, 0, schema(CONTEXTUAL), rows, job.stage.fingerprint)
    store.delete(FIGURE)
    counts = {"tokens": counted, "distinct_tokens": len(moments.ids), "first_unscored": unscored[:20]}
    job.finish(job.corpus["counts"]["sentences"] - len(unscored), len(unscored), counts)


def draw_figure(record: Run, layers: int, model: str) -> None:
    """Draw the figure that sets the corpus against the word embeddings, unless it is there."""
    # The static part's figures go when it is done again, and this one with them.
    if not record.store.exists(FIGURE):
        draw_contextual(record.store, layers, model)
        record.add_files("psi", "psi/figures", figure_files(FIGURE.removesuffix(".svg")))
