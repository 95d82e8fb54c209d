"""The stage `psi/contextual`, which runs the model on groups of shards and writes psi/contextual from their moments."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch

from jobs.engine.item import Item
from jobs.engine.under_way import counting
from jobs.stage.corpus_pass import CorpusPass, PassArgs, part_rows
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate
from jobs.stage.files import read_partials, shard_file, with_notes, write_partial
from jobs.stage.run import Run
from jobs.stage.runner import Step
from ops.errors import counted
from ops.estimate.distinct_tokens import COUNTED, distinct_tokens
from ops.figures import figure_files
from ops.model.batches import batch_lengths
from ops.model.head_projections import head_projections, word_embeddings
from ops.model.load import ModelFacts, load_model
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer, Tokens
from ops.psi.contextual import ContextualPsi
from ops.psi.figures import draw_contextual
from ops.psi.psi import VALUES
from ops.psi.tables import contextual_rows
from ops.reducers.grouped_moments import GroupedMoments, GroupedSums
from ops.schema import schema
from ops.shards import Ids
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.tables import write_part

CONTEXTUAL = "psi/contextual"
FIGURE = "psi/figures/static_contextual.svg"
# most bytes of all partial files; bytes per token, head and value in one of them
PARTIALS_BYTES, VALUE_BYTES = 16e9, 16
MERGED_AHEAD = 2  # number of groups read ahead, which is small because their tables are large
CONTEXT_ROW = 38  # bytes of a row of the table

Batches = Iterator[tuple[Ids, Sequence[Tokens]]]


def default_group_size(record: Run, facts: ModelFacts) -> int:
    """Return how many shards share a partial file by default."""
    static = record.require("psi")["counts"]
    partial_bytes = static["tokens"] * facts.layers * len(VALUES) * static["heads"] * VALUE_BYTES
    return fitting_group_size(len(record.shards()), partial_bytes)


def fitting_group_size(shards: int, partial_bytes: int) -> int:
    """Return how many shards share a partial file, so that all files together stay below `PARTIALS_BYTES`."""
    return -(-shards // max(int(PARTIALS_BYTES // partial_bytes), 1))


def group_step(job: CorpusPass) -> Step:
    """Return the step that reads the groups of shards."""
    return job.shard_step(GroupReader, {"args": job.args}, partial(prepare_group, args=job.args))


def prepare_group(item: Item, args: PassArgs) -> list[tuple[Ids, Sequence[Tokens]]]:
    """Read the tokens of the shards of one group; with GPUs, this runs on separate cores."""
    return list(group_batches(args, item, lambda: Tokenizer(args.facts)))


def group_batches(args: PassArgs, item: Item, tokenizer: Callable[[], Tokenizer]) -> Batches:
    """Yield the batches of a group's shards; a batch never spans two shards."""
    tokens, lengths = args.tokens(tokenizer), batch_lengths(args.device)
    for part, rows in part_rows(item):
        yield from tokens.batches(part, args.token_budget, lengths, rows)


class GroupReader:
    """Runs the model over groups of shards and commits the moments of the tokens that occur in each.

    Memory is 16 bytes for each token of the vocabulary, layer, head and value (140 MB for the packaged model, 280 MB
    for bert-base), and an additional two times that during a commit.
    """

    def __init__(self, args: PassArgs) -> None:
        set_numerics(args.device, args.threads)
        self.args, self.tokenizer = args, Tokenizer(args.facts)
        model = load_model(args.facts, args.device, args.dtype)
        self.reader = ContextualPsi(model, head_projections(model, args.facts))
        self.vocabulary = len(word_embeddings(model, args.facts))

    def __call__(self, item: Item, prepared: list[tuple[Ids, Sequence[Tokens]]] | None) -> Item:
        """Read the shards of one group in their order."""
        args, number = self.args, item["shard"]
        batches = group_batches(args, item, lambda: self.tokenizer) if prepared is None else iter(prepared)
        sums, unscored = self.read(counting(batches))
        moments, sentences = sums.result(), item["sentences"]
        notes = {"sentences": sentences, "unscored": sorted(unscored), "tokens": int(moments.count.sum())}
        write_partial(
            args.store, shard_file(CONTEXTUAL, number), write_arrays(**vars(moments)), args.fingerprint, notes
        )
        return {"shard": number, "sentences": sentences}

    def read(self, batches: Batches) -> tuple[GroupedSums, list[int]]:
        """Return the sums over batches, and the ids of the sentences that are not included."""
        columns = len(self.reader.layers) * len(VALUES) * self.reader.heads
        sums = GroupedSums(self.vocabulary, columns, torch.device(self.args.device))
        pad_id = self.tokenizer.pad_id
        return sums, [lost for ids, tokens in batches for lost in self.reader.add(ids, tokens, pad_id, sums)]


def measure_corpus(heads: int, job: CorpusPass) -> dict[str, Any]:
    """Read the groups, merge them in their order, write psi/contextual and return the counts."""
    job.do(group_step(job))
    store, layers = job.stage.store, job.args.facts.layers
    moments = GroupedMoments.empty(layers * len(VALUES) * heads)
    notes: list[dict[str, Any]] = []
    for table in with_notes(read_partials(store, job.partials, at_once=MERGED_AHEAD), notes):
        moments = moments.merge(GroupedMoments(**read_arrays(table)))
    rows = contextual_rows(moments, layers, heads)
    write_part(store, CONTEXTUAL, 0, schema(CONTEXTUAL), rows, job.stage.fingerprint)
    store.delete(FIGURE)
    unscored = [lost for note in notes for lost in note["unscored"]]
    tokens = sum(note["tokens"] for note in notes)
    counts = {"tokens": tokens, "distinct_tokens": len(moments.ids), "first_unscored": unscored[:20]}
    return job.accounted(job.sentences - len(unscored), len(unscored), counts)


def draw_figure(record: Run, facts: ModelFacts) -> None:
    """Draw the figure that compares the corpus with the word embeddings, unless it exists."""
    # If the static part is done again, its figures are removed, including this one.
    if not record.store.exists(FIGURE):
        draw_contextual(record.store, facts.layers, facts.title)
        record.add_files("psi", "psi/figures", figure_files(FIGURE.removesuffix(".svg")))


def plan_corpus(job: CorpusPass, record: DryRun) -> Plan:
    """Return what the stage would do."""
    estimate, args, shards = PassEstimate(record, job, group_step(job)), job.args, job.shards
    static = record.require("psi")["counts"]
    timed = estimate.time(GroupReader(args).read) if estimate.can_time else None
    rows = args.facts.layers * static["heads"]
    encoded = estimate.tokenizer.encode(estimate.sample.texts[:COUNTED])
    distinct, in_group = (
        distinct_tokens(encoded, sentences, static["tokens"])
        for sentences in (job.sentences, min(shards.size, job.sentences))
    )
    return Plan(
        [estimate.work("read"), f"about {counted(distinct, 'distinct token')}"],
        None if timed is None else estimate.seconds(timed.seconds_for(estimate.sentences)),
        distinct * rows * CONTEXT_ROW,
        len(job.numbers) * in_group * rows * len(VALUES) * VALUE_BYTES,
        estimate.basis(timed),
        counts={"scored": job.sentences},
    )
