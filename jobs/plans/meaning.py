"""What `meaning` would do: of the counts, and of the offsets."""

import time

import numpy as np

from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate, by_workers, corpus_sample, of_all, spread_seconds
from jobs.stage.runner import Stage
from jobs.steps.meaning.counts import COUNTS, CountArgs, contexts_step, words_step
from jobs.steps.meaning.offsets import OFFSETS, OffsetArgs, read_step
from ops.errors import counted
from ops.meaning.contexts import ContextCounter
from ops.meaning.vocabulary import choose, count_words
from ops.meaning.word_states import WordReader
from ops.model.tokenizer import Tokenizer

PAIR_BYTES, WORD_BYTES, NEIGHBOUR_BYTES, FIGURES_BYTES = 14, 16, 14, 400_000
SPACE_S, WORDS = (
    5.0,
    10_000,
)  # one core finds the neighbours of so many words of 384 units in so many seconds (measured)


def plan_counts(
    record: DryRun, stage: Stage, args: CountArgs, min_count: int, context_words: int | list[str], dimensions: int
) -> None:
    """Say what the counts would do.

    Args:
        record, stage: the run, and the stage begun.
        args: what the workers would be made from.
        min_count, context_words, dimensions: as chosen.
    """
    shards, size = args.shards, args.shards.size
    words, contexts = stage.missing(words_step(args)), stage.missing(contexts_step(args))
    sample = corpus_sample(record, len(shards))
    started = time.perf_counter()
    words_found = count_words(sample.texts, args.case)
    words_s = time.perf_counter() - started
    # Of a sample every word is kept, and a listed context word may not be in it.
    vocabulary = choose(words_found, 1, context_words if isinstance(context_words, int) else len(context_words))
    counter = ContextCounter(vocabulary, args.window, args.case)
    counter.count(sample.texts[:8])
    started = time.perf_counter()
    pairs = len(counter.count(sample.texts).key)
    pairs_s = time.perf_counter() - started
    times = shards.sentences / len(sample.texts)
    kept_words = int((words_found["count"].to_numpy() * times >= min_count).sum())

    def sentences(items: list[dict[str, int]]) -> int:
        return sum(min(size, shards.sentences - item["shard"] * size) for item in items)

    seconds = sum(
        spread_seconds(record, len(items), stage.workers, taken * sentences(items) / len(sample.texts))
        for items, taken in ((words, words_s), (contexts, pairs_s))
    )
    each = pairs * times**0.7  # distinct pairs grow more slowly than the corpus
    plan = Plan(
        [
            f"count the words of {of_all(len(words), len(shards), 'shard')} of {counted(shards.sentences, 'sentence')}",
            f"count the contexts of {counted(kept_words, 'word')} in {of_all(len(contexts), len(shards), 'shard')}",
        ],
        seconds,
        round(each * PAIR_BYTES) + kept_words * (WORD_BYTES + 4 * dimensions),
        round(pairs * times * PAIR_BYTES) + words_found.num_rows * WORD_BYTES * len(shards),
        [f"timed {counted(len(sample.texts), 'sentence')} in {words_s + pairs_s:.1f} s", by_workers(stage.workers)],
    )
    record.plan(COUNTS, plan, {"words": kept_words})


def plan_offsets(record: DryRun, job: CorpusPass, args: OffsetArgs, tokenizer: Tokenizer, neighbours: int) -> None:
    """Say what the offsets would do.

    Args:
        record, job: the run and the pass.
        args: what the workers would be made from.
        tokenizer: the model's.
        neighbours: of each word and space.
    """
    facts = args.facts
    estimate = PassEstimate(record, job, read_step(job, args), tokenizer)
    share = args.drawn / args.sentences
    words = count_words(estimate.sample.texts, args.case)["word"].to_pylist()[: args.words]
    timed = None
    if estimate.can_time:
        reader = WordReader(
            facts, tokenizer, args.device, args.dtype, args.threads, args.token_budget, words, args.case
        )
        sums, places = reader.empty(), {int(i): row for row, i in enumerate(estimate.sample.sent_ids)}
        reader.read_batch(estimate.sample.texts[:8], sums)
        timed = estimate.batches()
        started = time.perf_counter()
        for ids, _ in timed:
            reader.read_batch([estimate.sample.texts[places[int(i)]] for i in ids], sums)
        timed.seconds = time.perf_counter() - started
    spaces = facts.layers + 2
    seconds = None
    if timed is not None:
        seconds = estimate.seconds(timed.seconds_for(round(share * estimate.sentences)))
        seconds += spaces * SPACE_S * (args.words / WORDS) ** 2 if estimate.missing else 0.0
    state = 4 * facts.layers * facts.width
    plan = Plan(
        [
            f"{estimate.work('read')}" + (f", a sample of {args.drawn:,} of all" if share < 1 else ""),
            f"compare {counted(args.words, 'word')} in {spaces} spaces",
        ],
        seconds,
        spaces * args.words * neighbours * NEIGHBOUR_BYTES + FIGURES_BYTES,
        len(job.shards) * min(args.words, len(np.unique(words))) * state,
        estimate.basis(timed),
    )
    record.plan(OFFSETS, plan, {"scored": args.drawn})
