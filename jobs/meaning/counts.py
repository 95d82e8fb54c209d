"""The part `counts` of `meaning`, which counts words and their contexts, and adds up all shards to tables.

It makes two passes over corpus/. The first finds the words that are frequent enough, so that the second holds no other
words in memory. A worker holds a shard's words and pairs, and the words of the vocabulary.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.meaning.job import MeaningConfig
from jobs.options.configs import without_ingest
from jobs.run_folder.run import Run
from jobs.stage.outputs import Noted, Output, file_of, partial_file, read_notes, read_partial, read_partials
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.step import Step, Steps
from ops.corpus.read_shard import read_shard
from ops.meaning.counts import (
    CONTEXTS,
    WORDS,
    ContextCounter,
    ContextTables,
    Vocabulary,
    add_counts,
    choose,
    count_words,
)
from ops.shards import spans
from ops.storage.fingerprint import fingerprint
from ops.storage.range_file import read_each, read_each_between, write_numbers
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.storage.store import Store

COUNTS = "meaning/counts"
VOCABULARY = partial_file(COUNTS, "vocabulary")
WORDS_PER_RANGE = 1 << 16
# N sentences have about PAIRS * N ** GROWTH distinct pairs (648,000 of 40,000 sentences), for --dry-run.
PAIRS, GROWTH = 389, 0.7


def count(config: MeaningConfig, run: Run, context_words: int | list[str]) -> None:
    """Run the part: write meaning/contexts and meaning/words."""
    names = {"window", "word_case", "min_count", "smoothing", "dimensions", "singular_power", "seed"}
    listed = fingerprint({"words": sorted(context_words)}) if isinstance(context_words, list) else context_words
    depends_on = config.model_dump(include=names) | {"context_words": listed}
    options = without_ingest(config)
    stage = begin_stage(COUNTS, config, run, depends_on, counted=("words", "words counted"), options=options)
    if stage is not None:
        rows = {CONTEXTS: round(PAIRS * run.shards().sentences ** GROWTH)}
        # The number of words is not known yet; `offsets` compares at most these.
        stage.complete(count_steps(config, context_words, stage), rows, {"words": config.offset_words})


def count_steps(config: MeaningConfig, context_words: int | list[str], stage: Stage) -> Steps:
    """Yield the steps, write the contexts with PPMI and the word vectors, and return the counts."""
    store, shards = stage.store, stage.run.shards()
    each: dict[str, Any] = {
        "unit": "shards", "work": ("sentences", shards.sentences), "amount": shards.sentences,
    }  # fmt: skip
    items = [{"shard": i, "sentences": len(range(*shards.span(i)))} for i in range(len(shards))]
    words = Step(
        name="meaning: words", items=items, outputs=file_of(COUNTS, "words", "shard"), worker=count_shard,
        args={"store": store, "case": config.word_case}, **each,
    )  # fmt: skip
    chosen = Step(
        name="meaning: vocabulary", items=[{}], outputs=lambda _: [VOCABULARY], worker=choose_words, here=True,
        args={"store": store, "files": words.files, "min_count": config.min_count, "context_words": context_words},
    )  # fmt: skip
    contexts = Step(
        name="meaning: contexts", items=items, outputs=lambda item: [numbers_file("shard", item["shard"])],
        worker=PairCounter, args={"store": store, "window": config.window, "case": config.word_case}, **each,
    )  # fmt: skip
    yield [words, chosen, contexts]
    vocabulary = read_vocabulary(store)
    ranges = [{"range": i, "span": span} for i, span in enumerate(spans(len(vocabulary.rows), WORDS_PER_RANGE))]
    sums_of_ranges = Step(
        name="meaning: add up", items=ranges, outputs=lambda item: [numbers_file("range", item["range"])],
        worker=add_up_range, unit="ranges of words",
        args={"store": store, "files": contexts.files, "columns": len(vocabulary.columns)},
    )  # fmt: skip
    yield [sums_of_ranges]
    sums = np.array(read_notes(store, sums_of_ranges.files), np.int64).sum(0)
    tables = ContextTables(vocabulary, sums, config.smoothing)
    pairs = stage.write(CONTEXTS, tables.pairs(read_each(store, [file.path for file in sums_of_ranges.files])))
    vectors = tables.vectors(config.dimensions, config.singular_power, config.seed)
    return {
        "sentences": shards.sentences, "words": stage.write(WORDS, vectors), "context_words": len(sums),
        "pairs": pairs, "counted": int(sums.sum()), "dimensions": len(vectors["vector"][0]),
    }  # fmt: skip


def numbers_file(name: str, number: int) -> Output:
    """Return the file of the pairs of a shard or of a range of words, which is read by ranges."""
    return replace(partial_file(COUNTS, name, number), writer=write_numbers)


def read_vocabulary(store: Store) -> Vocabulary:
    """Return the vocabulary that `choose_words` made."""
    return Vocabulary.from_table(read_partial(store, VOCABULARY))


def count_shard(item: Item, store: Store, case: str) -> pa.Table:
    """Count the words of one shard."""
    _, texts, _ = read_shard(store, item["shard"])
    return count_words(texts, case)


def choose_words(
    item: Item, store: Store, files: list[Output], min_count: int, context_words: int | list[str]
) -> pa.Table:
    """Choose the vocabulary from the words of all shards."""
    counts = add_counts(read_partials(store, files, at_once=LARGE_FILES_AT_ONCE))
    return choose(counts, min_count, context_words).to_table()


class PairCounter:
    """Counts the contexts of the words of shards."""

    def __init__(self, store: Store, window: int, case: str) -> None:
        self.store = store
        self.counter = ContextCounter(read_vocabulary(store), window, case)

    def __call__(self, item: Item) -> pa.Table:
        """Count one shard's contexts."""
        _, texts, _ = read_shard(self.store, item["shard"])
        return self.counter.count(texts)


def add_up_range(item: Item, store: Store, files: list[Output], columns: int) -> Noted:
    """Add up the counts of all shards for one range of words; the notes are the total of each context word."""
    first, stop = (row * columns for row in item["span"])
    paths = [file.path for file in files]
    pairs = add_counts(read_each_between(store, paths, "key", first, stop - 1, LARGE_FILES_AT_ONCE))
    row, column = np.divmod(pairs["key"].to_numpy(), columns)
    sums = np.zeros(columns, np.int64)
    np.add.at(sums, column, pairs["total"].to_numpy())
    table = pa.table({"row": row, "column": column, "count": pairs["total"]})
    return Noted(table, sums.tolist())
