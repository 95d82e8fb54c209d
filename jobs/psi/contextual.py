"""The stage `psi/contextual`, which runs the model on groups of shards and writes psi/contextual from their moments."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch

from jobs.engine.item import Item
from jobs.engine.under_way import counting
from jobs.psi.job import PsiConfig
from jobs.run_folder.run import Run
from jobs.stage.corpus_pass import CorpusPass, PassArgs, begin_pass, group_size, part_rows
from jobs.stage.outputs import Noted, read_partials, shard_file, whole_table, with_notes
from jobs.stage.step import Made, Steps
from ops.figures.files import save_figures
from ops.model.attention_modules import head_projections, word_embeddings
from ops.model.batches import batch_lengths
from ops.model.load import ModelFacts, load_model
from ops.model.numerics import set_numerics
from ops.model.tokenizer import Tokenizer, Tokens
from ops.psi.contextual import ContextualPsi
from ops.psi.figures import static_contextual_figure
from ops.psi.psi import VALUES
from ops.psi.tables import contextual_rows
from ops.reducers.grouped_moments import GroupedMoments, GroupedSums
from ops.shards import Ids
from ops.storage.arrays import read_arrays, write_arrays

CONTEXTUAL = "psi/contextual"
FIGURE = "psi/figures/static_contextual.svg"
VALUE_BYTES = 16  # bytes per token, head and value in a partial file
MERGED_AHEAD = 2  # number of groups read ahead, which is small because their tables are large

Batches = Iterator[tuple[Ids, Sequence[Tokens]]]


def measure_corpus(config: PsiConfig, run: Run, facts: ModelFacts, tokenizer: Tokenizer) -> None:
    """Run the stage, or the missing part of it; the word embeddings were measured."""
    static = run.require("psi")["counts"]
    tokens, in_all = static["tokens"], facts.layers * static["heads"]
    group = config.group_size or group_size(len(run.shards()), tokens * in_all * len(VALUES) * VALUE_BYTES)
    job = begin_pass(CONTEXTUAL, config, run, facts, tokenizer, {}, per_group=group)
    if job is not None:
        steps = contextual_steps(static["heads"], job)
        job.stage.complete(steps, {CONTEXTUAL: tokens * in_all}, {"scored": job.sentences})


def contextual_steps(heads: int, job: CorpusPass) -> Steps:
    """Yield the step of the groups, merge them in their order, write psi/contextual and return the counts."""
    yield [job.shard_step(GroupReader, {"args": job.args}, partial(prepare_group, args=job.args))]
    store, layers = job.stage.store, job.args.facts.layers
    moments = GroupedMoments.empty(layers * len(VALUES) * heads)
    notes: list[dict[str, Any]] = []
    for table in with_notes(read_partials(store, job.partials, at_once=MERGED_AHEAD), notes):
        moments = moments.merge(GroupedMoments(**read_arrays(table)))
    whole_table(CONTEXTUAL).commit(store, contextual_rows(moments, layers, heads), job.stage.fingerprint)
    store.delete(FIGURE)
    unscored = [sentence for note in notes for sentence in note["unscored"]]
    tokens = sum(note["tokens"] for note in notes)
    counts = {"tokens": tokens, "distinct_tokens": len(moments.ids), "first_unscored": unscored[:20]}
    return job.accounted(job.sentences - len(unscored), len(unscored), counts)


def draw_figure(run: Run, facts: ModelFacts) -> None:
    """Draw the figure that compares the corpus with the word embeddings, unless it exists."""
    # If the static part is done again, its figures are removed, including this one.
    if not run.store.exists(FIGURE):
        figures = {"static_contextual": static_contextual_figure(run.store, facts.layers)}
        run.add_files("psi", "psi/figures", save_figures(run.store, "psi/figures", figures, facts.title))


def prepare_group(item: Item, args: PassArgs) -> list[tuple[Ids, Sequence[Tokens]]]:
    """Read the tokens of the shards of one group; with GPUs, this runs on separate cores."""
    return list(group_batches(args, item, lambda: Tokenizer(args.facts)))


def group_batches(args: PassArgs, item: Item, tokenizer: Callable[[], Tokenizer]) -> Batches:
    """Yield the batches of a group's shards; a batch never spans two shards."""
    tokens, lengths = args.tokens(tokenizer), batch_lengths(args.device)
    for part, rows in part_rows(item):
        yield from tokens.batches(part, args.token_budget, lengths, rows)


class GroupReader:
    """Runs the model over groups of shards; the result is the moments of the tokens that occur in each group.

    Memory is 16 bytes for each token of the vocabulary, layer, head and value (140 MB for the packaged model, 280 MB
    for bert-base), and an additional two times that during a commit.
    """

    def __init__(self, args: PassArgs) -> None:
        set_numerics(args.device, args.threads)
        self.args, self.tokenizer = args, Tokenizer(args.facts)
        model = load_model(args.facts, args.device, args.dtype)
        self.reader = ContextualPsi(model, head_projections(model, args.facts))
        self.vocabulary = len(word_embeddings(model, args.facts))

    def __call__(self, item: Item, prepared: list[tuple[Ids, Sequence[Tokens]]] | None) -> Made:
        """Read the shards of one group in their order."""
        batches = group_batches(self.args, item, lambda: self.tokenizer) if prepared is None else iter(prepared)
        columns, pad_id = len(self.reader.layers) * len(VALUES) * self.reader.heads, self.tokenizer.pad_id
        sums = GroupedSums(self.vocabulary, columns, torch.device(self.args.device))
        unscored = [i for ids, tokens in counting(batches) for i in self.reader.add(ids, tokens, pad_id, sums)]
        moments = sums.result()
        notes = {"sentences": item["sentences"], "unscored": sorted(unscored), "tokens": int(moments.count.sum())}
        return {shard_file(CONTEXTUAL, item["shard"]): Noted(write_arrays(**vars(moments)), notes)}
