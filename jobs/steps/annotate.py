"""The step of `annotate`: the selected sentences of every shard get words, tags and parses, and codes for mining."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.layout import Output, codes_file, selected_path, shard_file, vocabulary_path
from jobs.stage.step import Step
from ops.sampling import BASELINE, draw
from ops.schema import group_rows, meta_keys, schema
from ops.sentences.codes import coded_table, sentence_table, vocabulary, vocabulary_columns
from ops.sentences.pipeline import Annotator
from ops.shards import Shards
from ops.storage.range_file import read_groups
from ops.storage.store import Store
from ops.storage.tables import part_name, read_parts, write_part

SELECTED, IN_BASELINE, WINNER = 1, 2, 4


def select_sentences(store: Store, shards: Shards, whole: bool, baseline_size: int | None, seed: int) -> list[int]:
    """Commit which sentences are to be annotated, and return how many each shard has; see `mark_sentences`."""
    marks = mark_sentences(store, shards, whole, baseline_size, seed)
    store.commit(selected_path(), marks.tofile)
    return [int(np.count_nonzero(marks[slice(*shards.span(i))])) for i in range(len(shards))]


def mark_sentences(
    store: Store, shards: Shards, whole: bool, baseline_size: int | None, seed: int
) -> npt.NDArray[np.uint8]:
    """Return a byte for each sentence of the corpus that says whether it is to be annotated, and as what.

    Args:
        store: the run's folder.
        shards: the corpus's.
        whole: annotate every sentence; the baseline is then all that were scored.
        baseline_size: sentences of the uniform baseline sample; None: all.
        seed: that of the sample.
    """
    marks = np.zeros(shards.sentences, np.uint8)
    for table in read_parts(store, "topk", ["sent_id"]):
        marks[table["sent_id"].to_numpy()] = SELECTED | WINNER
    for table in read_parts(store, "activations", ["sent_id"]):
        marks[table["sent_id"].to_numpy()] |= SELECTED
    scored = np.ones(shards.sentences, bool)
    for table in read_parts(store, "unscored", ["sent_id"]):
        scored[table["sent_id"].to_numpy()] = False
    candidates = np.flatnonzero(scored)
    size = len(candidates) if whole or baseline_size is None else baseline_size
    marks[candidates[draw(len(candidates), size, seed, BASELINE)]] |= SELECTED | IN_BASELINE
    if whole:
        marks |= SELECTED
    return marks


def annotate_step(shards: Shards, sentences: int, args: Item) -> Step:
    """Return the step that annotates so many sentences; `args` as `ShardAnnotator` takes them."""
    items = [{"shard": i, "span": shards.span(i)} for i in range(len(shards))]
    work = ("sentences", sentences)
    return Step("annotate", items, shard_outputs, ShardAnnotator, args, "shards", work, actors=True)


def shard_outputs(item: Item) -> list[Output]:
    """Return the files of a shard: its codes, and its part of sentences/ to be."""
    return [codes_file(item["shard"]), shard_file("annotate", item["shard"])]


class ShardAnnotator:
    """Annotates the selected sentences of one shard after another."""

    def __init__(self, store: Store, pipeline: str, fingerprint: str) -> None:
        import torch

        torch.set_num_threads(1)
        self.store, self.fingerprint = store, fingerprint
        self.annotator = Annotator(pipeline)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Annotate one shard."""
        shard = item["shard"]
        first, stop = item["span"]
        with self.store.filesystem.open_input_file(self.store.path(selected_path())) as file:
            marks = np.frombuffer(file.read_at(stop - first, first), np.uint8)
        selected = np.flatnonzero(marks)
        marks = marks[selected]
        with self.store.parquet(part_name("corpus", shard)) as file:
            corpus = file.read().take(pa.array(selected))
        found = self.annotator.annotate(corpus["text"].to_pylist())
        table = sentence_table(corpus, found, pa.array(marks & IN_BASELINE > 0), pa.array(marks & WINNER > 0))
        for output, rows in zip(shard_outputs(item), (coded_table(table), table), strict=True):
            described = rows.replace_schema_metadata(output.footer(self.fingerprint, table.num_rows))
            self.store.commit(output.path, partial(_write, described))
        return {"shard": shard, "sentences": table.num_rows}


def _write(table: pa.Table, path: str) -> None:
    pq.write_table(table, path, compression="zstd", row_group_size=group_rows("sentences"))


def publish(store: Store, shards: int, fingerprint: str) -> dict[str, int]:
    """Write sentences/ from the partial files, and the store's vocabulary; return the counts."""
    counts = dict.fromkeys(("sentences", "baseline", "winners", "tagged", "trees"), 0)
    for shard in range(shards):
        with store.parquet(shard_file("annotate", shard).path) as file:
            groups = [file.read_row_group(i) for i in range(file.num_row_groups)]
            layout = schema("sentences", meta_keys(file.schema_arrow))
        counts["sentences"] += write_part(store, "sentences", shard, layout, groups, fingerprint)
        for group in groups:
            counts["baseline"] += group["is_baseline"].to_numpy().sum().item()
            counts["winners"] += group["is_winner"].to_numpy().sum().item()
            counts["tagged"] += group.num_rows - group["tags"].null_count
            counts["trees"] += group.num_rows - group["tree"].null_count

    def tables() -> Iterator[pa.Table]:
        for shard in range(shards):
            yield from read_groups(store, codes_file(shard).path, vocabulary_columns())

    names = vocabulary(tables())
    store.commit(vocabulary_path(), lambda path: pq.write_table(names, path, compression="zstd"))
    return counts
