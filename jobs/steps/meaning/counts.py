"""The steps of the counts of `meaning`: words are counted, then their contexts, then all shards are added up.

Two passes over corpus/: the first finds which words are frequent enough, so that the second holds no others. A worker
holds a shard's words and pairs, and the words of the vocabulary.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.layout import Output, shard_file
from jobs.stage.meaning_config import MeaningConfig
from jobs.stage.runner import Step
from jobs.stage.stages import STAGES
from ops.corpus.read_shard import read_shard
from ops.meaning.contexts import ContextCounter, Counts, add_up
from ops.meaning.vocabulary import Vocabulary, add_counts, choose, count_words
from ops.shards import Shards, spans
from ops.storage.fingerprint import fingerprint
from ops.storage.range_file import read_between, write_numbers
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE, side_by_side
from ops.storage.store import Store

COUNTS = "meaning/counts"
WORDS_PER_RANGE = 1 << 16
SUMS = b"atlas.sums"


@dataclass(frozen=True)
class CountArgs:
    """What every worker is made from."""

    store: Store
    fingerprint: str
    window: int
    case: str
    shards: Shards


def identity(config: MeaningConfig, context_words: int | list[str]) -> dict[str, Any]:
    """Return what the counts depend on besides the corpus."""
    names = ("window", "word_case", "min_count", "smoothing", "dimensions", "singular_power", "seed")
    named = fingerprint({"words": sorted(context_words)}) if isinstance(context_words, list) else context_words
    return {**{name: getattr(config, name) for name in names}, "context_words": named}


def words_file(shard: int) -> Output:
    """Return the file of the words of a shard, with their counts."""
    return _partial(f"words-{shard:05d}", f"words-{shard}")


def vocabulary_file() -> Output:
    """Return the file of the words that are counted, and of the context words."""
    return _partial("vocabulary", "vocabulary")


def range_file(item: Item) -> Output:
    """Return the file of the counts over all shards of a range of words."""
    return _partial(f"range-{item['range']:05d}", f"range-{item['range']}")


def _partial(stem: str, name: str) -> Output:
    return Output(f"{STAGES[COUNTS].partials}/{stem}.parquet", name)


def words_step(args: CountArgs) -> Step:
    """Return the step that counts the words of every shard."""
    return _shard_step("meaning: words", args, lambda item: [words_file(item["shard"])], WordCounter)


def contexts_step(args: CountArgs) -> Step:
    """Return the step that counts the contexts in every shard; the vocabulary is to be there."""
    return _shard_step("meaning: contexts", args, lambda item: [shard_file(COUNTS, item["shard"])], PairCounter)


def _shard_step(name: str, args: CountArgs, outputs: Any, worker: Any) -> Step:
    items = [{"shard": i} for i in range(len(args.shards))]
    return Step(name, items, outputs, worker, {"args": args}, "shards", ("sentences", args.shards.sentences))


def merge_step(args: CountArgs, words: int) -> Step:
    """Return the step that adds up the counts of all shards, a range of words after another."""
    items = [{"range": i, "span": span} for i, span in enumerate(spans(words, WORDS_PER_RANGE))]
    given = {"args": args}
    return Step("meaning: add up", items, lambda item: [range_file(item)], RangeMerger, given, "ranges of words")


class WordCounter:
    """Counts the words of shard after shard."""

    def __init__(self, args: CountArgs) -> None:
        self.args, self.store = args, args.store

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Count one shard's words and commit them."""
        _, texts, _ = read_shard(self.store, item["shard"])
        output, table = words_file(item["shard"]), count_words(texts, self.args.case)
        described = table.replace_schema_metadata(output.footer(self.args.fingerprint, table.num_rows))
        self.store.commit(output.path, lambda path: pq.write_table(described, path, compression="zstd"))
        return {"sentences": len(texts)}


class PairCounter:
    """Counts the contexts of the words of shard after shard."""

    def __init__(self, args: CountArgs) -> None:
        self.args, self.store = args, args.store
        self.counter = ContextCounter(read_vocabulary(args.store), args.window, args.case)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Count one shard's contexts and commit them."""
        _, texts, _ = read_shard(self.store, item["shard"])
        found = self.counter.count(texts)
        output = shard_file(COUNTS, item["shard"])
        footer = output.footer(self.args.fingerprint, len(found.key))
        table = pa.table(found._asdict()).replace_schema_metadata(footer)
        self.store.commit(output.path, lambda path: write_numbers(table, path))
        return {"sentences": len(texts)}


class RangeMerger:
    """Adds up the counts of all shards for one range of words after another."""

    def __init__(self, args: CountArgs) -> None:
        self.args, self.store = args, args.store
        self.columns = len(read_vocabulary(args.store).columns)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Add up one range and commit it, the sums of its context words in the footer."""
        first, stop = (row * self.columns for row in item["span"])
        shards = range(len(self.args.shards))
        found = add_up(side_by_side(lambda shard: self._shard(shard, first, stop - 1), shards, LARGE_FILES_AT_ONCE))
        row, column = np.divmod(found.key, self.columns)
        sums = np.zeros(self.columns, np.int64)
        np.add.at(sums, column, found.total)
        output = range_file(item)
        footer = {**output.footer(self.args.fingerprint, len(row)), SUMS: json.dumps(sums.tolist()).encode()}
        table = pa.table({"row": row, "column": column, "count": found.total}).replace_schema_metadata(footer)
        self.store.commit(output.path, lambda path: write_numbers(table, path))
        return {"range": item["range"]}

    def _shard(self, shard: int, first: int, last: int) -> Counts:
        found = read_between(self.store, shard_file(COUNTS, shard).path, "key", first, last)
        return Counts(found["key"].to_numpy(), found["total"].to_numpy())


def choose_words(args: CountArgs, min_count: int, context_words: int | list[str]) -> Vocabulary:
    """Return the vocabulary, from all shards' words where it is not there yet.

    Raises:
        InputError: as `ops.meaning.vocabulary.choose` raises it.
    """
    store, output = args.store, vocabulary_file()
    if not output.is_whole(store, args.fingerprint):
        found = choose(add_counts(_words(store, len(args.shards))), min_count, context_words)
        table = found.to_table()
        described = table.replace_schema_metadata(output.footer(args.fingerprint, table.num_rows))
        store.commit(output.path, lambda path: pq.write_table(described, path, compression="zstd"))
    return read_vocabulary(store)


def _words(store: Store, shards: int) -> Iterator[pa.Table]:
    def read(shard: int) -> pa.Table:
        with store.parquet(words_file(shard).path) as file:
            return file.read()

    return side_by_side(read, range(shards), LARGE_FILES_AT_ONCE)


def read_vocabulary(store: Store) -> Vocabulary:
    """Return the vocabulary that `choose_words` committed."""
    with store.parquet(vocabulary_file().path) as file:
        return Vocabulary.from_table(file.read())
