"""The steps of `annotate`: the selected sentences of every shard get words, tags and parses, and codes for mining."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.layout import Output, codes_file, places_file, selected_path, shard_file, table_part, vocabulary_file
from jobs.stage.runner import Step
from ops.sampling import BASELINE, draw
from ops.schema import group_rows, meta_keys, schema
from ops.sentences.codes import coded, meta_kinds, name_kinds, sentence_table
from ops.sentences.pipeline import Annotator
from ops.sentences.vocabulary import vocabulary, write_places, write_vocabulary
from ops.shards import Shards
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.storage.tables import part_name, read_parts, write_part

SELECTED, IN_BASELINE, WINNER = 1, 2, 4
COUNTS = b"atlas.counts"
COUNTED = ("sentences", "baseline", "winners", "tagged", "trees")


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
    lost = [table["sent_id"].to_numpy() for table in read_parts(store, "unscored", ["sent_id"])]
    unscored = np.sort(np.concatenate([np.zeros(0, np.int64), *lost]))
    scored = shards.sentences - len(unscored)
    if whole or baseline_size is None or baseline_size >= scored:
        kept = marks[unscored]
        marks |= SELECTED | IN_BASELINE
        marks[unscored] = kept
    else:
        place = draw(scored, baseline_size, seed, BASELINE)
        # Of the scored sentences the one at a place has as many before it as there are unscored ones below it.
        place += np.searchsorted(unscored - np.arange(len(unscored)), place, side="right")
        marks[place] |= SELECTED | IN_BASELINE
    if whole:
        marks |= SELECTED
    return marks


def annotate_step(shards: Shards, sentences: int, args: Item) -> Step:
    """Return the step that annotates so many sentences; `args` as `ShardAnnotator` takes them."""
    items = [{"shard": i, "span": shards.span(i)} for i in range(len(shards))]
    work = ("sentences", sentences)
    return Step("annotate", items, shard_outputs, ShardAnnotator, args, "shards", work, actors=True)


def shard_outputs(item: Item) -> list[Output]:
    """Return the files of a shard: its codes, its part of sentences/, and the names of its codes."""
    shard = item["shard"]
    return [codes_file(shard), table_part("sentences", shard, f"shard-{shard}"), shard_file("annotate", shard)]


class ShardAnnotator:
    """Annotates the selected sentences of one shard after another, and writes all that comes of it."""

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
        publish_shard(self.store, shard, table, self.fingerprint)
        return {"shard": shard, "sentences": table.num_rows}


def publish_shard(store: Store, shard: int, table: pa.Table, fingerprint: str) -> None:
    """Write the files of a shard from its rows of `sentences/`; see `shard_outputs`."""
    codes, sentences, own = shard_outputs({"shard": shard})
    numbers, names = coded(table)
    _commit(store, codes, numbers, fingerprint)
    layout, limit = schema("sentences", meta_keys(table.schema)), group_rows("sentences")
    groups = (table.slice(start, limit) for start in range(0, table.num_rows, limit))
    described = sentences.footer(fingerprint, table.num_rows)
    write_part(store, "sentences", shard, layout, groups, fingerprint, described)
    counts = {
        "sentences": table.num_rows,
        "baseline": table["is_baseline"].to_numpy().sum().item(),
        "winners": table["is_winner"].to_numpy().sum().item(),
        "tagged": table.num_rows - table["tags"].null_count,
        "trees": table.num_rows - table["tree"].null_count,
    }
    _commit(store, own, names, fingerprint, {COUNTS: json.dumps(counts).encode()})


def _commit(
    store: Store, output: Output, table: pa.Table, fingerprint: str, extra: dict[bytes, bytes] | None = None
) -> None:
    described = table.replace_schema_metadata({**output.footer(fingerprint, table.num_rows), **(extra or {})})
    write = partial(pq.write_table, described, compression="zstd", row_group_size=max(table.num_rows, 1))
    store.commit(output.path, write)


def vocabulary_step(store: Store, shards: int, fingerprint: str) -> Step:
    """Return the step, done in this process, that makes one list of the names of all shards' codes."""
    args = {"store": store, "shards": shards, "fingerprint": fingerprint}
    outputs = [places_file(), vocabulary_file()]
    return Step("annotate: vocabulary", [{}], lambda _: outputs, VocabularyWriter, args, here=True)


class VocabularyWriter:
    """Puts the names of all shards together; its memory is that of the distinct ones."""

    def __init__(self, store: Store, shards: int, fingerprint: str) -> None:
        self.store, self.shards, self.fingerprint = store, shards, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Do it, and add up what the shards have counted."""
        with self.store.parquet(codes_file(0).path) as file:
            kinds = name_kinds(meta_kinds(file.schema_arrow.names))
        counts: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
        every = vocabulary(self._names(counts), kinds)
        distinct = sum(map(len, every.values()))
        counted = {COUNTS: json.dumps(counts).encode()}
        places = places_file().footer(self.fingerprint, self.shards)
        self.store.commit(places_file().path, lambda path: write_places(self._names(), every, path, places))
        footer = {**vocabulary_file().footer(self.fingerprint, distinct), **counted}
        self.store.commit(vocabulary_file().path, lambda path: write_vocabulary(every, path, footer))
        return {}

    def _names(self, counts: Counter[str] | None = None) -> Iterator[pa.Table]:
        for names in side_by_side(self._read, range(self.shards)):
            if counts is not None:
                counts.update(json.loads(names.schema.metadata[COUNTS]))
            yield names

    def _read(self, shard: int) -> pa.Table:
        with self.store.parquet(shard_file("annotate", shard).path) as file:
            return file.read()


def read_counts(store: Store) -> dict[str, int]:
    """Return what all shards have counted, by the names of `COUNTED`."""
    with store.parquet(vocabulary_file().path) as file:
        counts: dict[str, int] = json.loads(file.metadata.metadata[COUNTS])
    return counts
