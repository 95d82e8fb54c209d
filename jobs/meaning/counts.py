"""The part `counts` of `meaning`, which counts words and their contexts, and adds up all shards to tables.

It makes two passes over corpus/. The first finds the words that are frequent enough, so that the second holds no other
words in memory. A worker holds a shard's words and pairs, and the words of the vocabulary.
"""

import json
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from jobs.stage.estimate import by_workers, corpus_sample, of_all, spread_seconds

from jobs.engine.item import Item
from jobs.meaning.job import MeaningConfig
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.options import without_ingest
from jobs.stage.outputs import partial_file, read_partial, read_partials, shard_file, write_partial
from jobs.stage.run import Run
from jobs.stage.runner import Stage, StageSpec, Step, run_stage
from ops.arrays import Int64s
from ops.corpus.read_shard import read_shard
from ops.errors import counted
from ops.meaning.context_tables import CONTEXTS, WORDS, ContextTables
from ops.meaning.contexts import ContextCounter, Counts, add_up
from ops.meaning.vocabulary import Vocabulary, add_counts, choose, count_words
from ops.schema import schema
from ops.shards import Shards, spans
from ops.storage.fingerprint import fingerprint
from ops.storage.range_file import read_between, read_each, write_numbers
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import Store
from ops.storage.tables import write_part

COUNTS = "meaning/counts"
VOCABULARY = partial_file(COUNTS, "vocabulary")
WORDS_PER_RANGE = 1 << 16
SUMS = b"atlas.sums"  # key in the footer of a range's file for the total count of each context word
PAIR_BYTES, WORD_BYTES = 14, 16  # bytes of a pair and of a word in the tables and partial files


@dataclass(frozen=True)
class CountArgs:
    """The arguments of every worker."""

    store: Store
    fingerprint: str
    window: int
    case: str
    shards: Shards


def count(config: MeaningConfig, record: Run, context_words: int | list[str]) -> None:
    """Run the part: write meaning/contexts and meaning/words."""
    names = ("window", "word_case", "min_count", "smoothing", "dimensions", "singular_power", "seed")
    named = fingerprint({"words": sorted(context_words)}) if isinstance(context_words, list) else context_words
    spec = StageSpec(
        COUNTS,
        {**{name: getattr(config, name) for name in names}, "context_words": named},
        partial(count_all, config, context_words),
        partial(plan, config, context_words),
        ("words", "words counted"),
        without_ingest(config),
    )
    run_stage(spec, config, record)


def count_args(config: MeaningConfig, stage: Stage) -> CountArgs:
    """Return the arguments of the workers."""
    return CountArgs(stage.store, stage.fingerprint, config.window, config.word_case, stage.record.shards())


def words_step(args: CountArgs) -> Step:
    """Return the step that counts the words of every shard."""
    items = [{"shard": i} for i in range(len(args.shards))]
    return Step(
        "meaning: words", items, lambda item: [partial_file(COUNTS, "words", item["shard"])], WordCounter,
        {"args": args}, "shards", ("sentences", args.shards.sentences),
    )  # fmt: skip


def contexts_step(args: CountArgs) -> Step:
    """Return the step that counts the contexts in every shard; the vocabulary must exist."""
    items = [{"shard": i} for i in range(len(args.shards))]
    return Step(
        "meaning: contexts", items, lambda item: [shard_file(COUNTS, item["shard"])], PairCounter,
        {"args": args}, "shards", ("sentences", args.shards.sentences),
    )  # fmt: skip


def merge_step(args: CountArgs, words: int) -> Step:
    """Return the step that adds up the counts of all shards, with one item per range of words."""
    items = [{"range": i, "span": span} for i, span in enumerate(spans(words, WORDS_PER_RANGE))]
    return Step(
        "meaning: add up", items, lambda item: [partial_file(COUNTS, "range", item["range"])], RangeMerger,
        {"args": args}, "ranges of words",
    )  # fmt: skip


class WordCounter:
    """Counts the words of shards."""

    def __init__(self, args: CountArgs) -> None:
        self.args = args

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Count one shard's words and commit them."""
        args, shard = self.args, item["shard"]
        _, texts, _ = read_shard(args.store, shard)
        found = count_words(texts, args.case)
        write_partial(args.store, partial_file(COUNTS, "words", shard), found, args.fingerprint)
        return {"sentences": len(texts)}


class PairCounter:
    """Counts the contexts of the words of shards."""

    def __init__(self, args: CountArgs) -> None:
        self.args = args
        self.counter = ContextCounter(read_vocabulary(args.store), args.window, args.case)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Count one shard's contexts and commit them."""
        args, shard = self.args, item["shard"]
        _, texts, _ = read_shard(args.store, shard)
        found = pa.table(self.counter.count(texts)._asdict())
        write_partial(args.store, shard_file(COUNTS, shard), found, args.fingerprint, write=write_numbers)
        return {"sentences": len(texts)}


class RangeMerger:
    """Adds up the counts of all shards for ranges of words."""

    def __init__(self, args: CountArgs) -> None:
        self.args = args
        self.columns = len(read_vocabulary(args.store).columns)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Add up one range and commit it, with the sums of its context words in the footer."""
        args = self.args
        first, stop = (row * self.columns for row in item["span"])
        shards = range(len(args.shards))
        found = add_up(side_by_side(lambda shard: self._shard(shard, first, stop - 1), shards, LARGE_FILES_AT_ONCE))
        row, column = np.divmod(found.key, self.columns)
        sums = np.zeros(self.columns, np.int64)
        np.add.at(sums, column, found.total)
        said = {SUMS: json.dumps(sums.tolist()).encode()}
        output = partial_file(COUNTS, "range", item["range"])
        table = pa.table({"row": row, "column": column, "count": found.total})
        write_partial(args.store, output, table, args.fingerprint, write=write_numbers, extra=said)
        return {"range": item["range"]}

    def _shard(self, shard: int, first: int, last: int) -> Counts:
        found = read_between(self.args.store, shard_file(COUNTS, shard).path, "key", first, last)
        return Counts(found["key"].to_numpy(), found["total"].to_numpy())


def choose_words(args: CountArgs, min_count: int, context_words: int | list[str]) -> Vocabulary:
    """Return the vocabulary, and make it from the words of all shards if it does not exist yet.

    Raises:
        InputError: `ops.meaning.vocabulary.choose` raises this error.
    """
    if not VOCABULARY.is_whole(args.store, args.fingerprint):
        words = [partial_file(COUNTS, "words", shard) for shard in range(len(args.shards))]
        found = choose(
            add_counts(read_partials(args.store, words, at_once=LARGE_FILES_AT_ONCE)), min_count, context_words
        )
        write_partial(args.store, VOCABULARY, found.to_table(), args.fingerprint)
    return read_vocabulary(args.store)


def read_vocabulary(store: Store) -> Vocabulary:
    """Return the vocabulary that `choose_words` committed."""
    return Vocabulary.from_table(read_partial(store, VOCABULARY))


def count_all(config: MeaningConfig, context_words: int | list[str], stage: Stage) -> dict[str, Any]:
    """Do the missing items of the steps, write the contexts with PPMI and the word vectors, and return the counts."""
    args = count_args(config, stage)
    stage.do(words_step(args))
    vocabulary = choose_words(args, config.min_count, context_words)
    merge = merge_step(args, len(vocabulary.rows))
    stage.do(contexts_step(args))
    stage.do(merge)
    store = args.store
    ranges = [output.path for item in merge.items for output in merge.outputs(item)]
    sums = np.zeros(len(vocabulary.columns), np.int64)
    for own in side_by_side(partial(_read_sums, store), ranges):
        sums += own
    tables = ContextTables(vocabulary, sums, config.smoothing)
    pairs = write_part(store, CONTEXTS, 0, schema(CONTEXTS), tables.pairs(read_each(store, ranges)), args.fingerprint)
    words = tables.vectors(config.dimensions, config.singular_power, config.seed)
    write_part(store, WORDS, 0, schema(WORDS), [words], args.fingerprint)
    return {
        "sentences": args.shards.sentences,
        "words": words.num_rows,
        "context_words": len(sums),
        "pairs": pairs,
        "counted": int(sums.sum()),
        "dimensions": len(words["vector"][0]),
    }


def _read_sums(store: Store, name: str) -> Int64s:
    with store.parquet(name) as file:
        return np.array(json.loads(file.schema_arrow.metadata[SUMS]), np.int64)


def plan(config: MeaningConfig, context_words: int | list[str], stage: Stage, record: DryRun) -> Plan:
    """Return what the part would do."""
    args = count_args(config, stage)
    shards = args.shards
    words, contexts = stage.missing(words_step(args)), stage.missing(contexts_step(args))
    sample = corpus_sample(record, len(shards))
    started = time.perf_counter()
    words_found = count_words(sample.texts, args.case)
    words_s = time.perf_counter() - started
    # Every word of a sample is kept, and a listed context word may be missing from it.
    vocabulary = choose(words_found, 1, context_words if isinstance(context_words, int) else len(context_words))
    counter = ContextCounter(vocabulary, args.window, args.case)
    counter.count(sample.texts[:8])
    started = time.perf_counter()
    pairs = len(counter.count(sample.texts).key)
    pairs_s = time.perf_counter() - started
    times = shards.sentences / len(sample.texts)
    kept_words = int((words_found["count"].to_numpy() * times >= config.min_count).sum())
    seconds = 0.0
    for items, taken in ((words, words_s), (contexts, pairs_s)):
        sentences = sum(stop - first for first, stop in (shards.span(item["shard"]) for item in items))
        seconds += spread_seconds(record, len(items), stage.workers, taken * sentences / len(sample.texts))
    each = pairs * times**0.7  # distinct pairs grow more slowly than the corpus
    return Plan(
        [
            f"count the words of {of_all(len(words), len(shards), 'shard')} of {counted(shards.sentences, 'sentence')}",
            f"count the contexts of {counted(kept_words, 'word')} in {of_all(len(contexts), len(shards), 'shard')}",
        ],
        seconds,
        round(each * PAIR_BYTES) + kept_words * (WORD_BYTES + 4 * config.dimensions),
        round(pairs * times * PAIR_BYTES) + words_found.num_rows * WORD_BYTES * len(shards),
        [f"timed {counted(len(sample.texts), 'sentence')} in {words_s + pairs_s:.1f} s", by_workers(stage.workers)],
        counts={"words": kept_words},
    )
