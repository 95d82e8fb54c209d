"""The stage `annotate`, which adds words, tags and parses to the selected sentences, and codes for mining."""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.annotate.job import AnnotateConfig
from jobs.engine.item import Item
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, corpus_sample, of_all, spread_seconds
from jobs.stage.outputs import Output, read_partials, shard_file, table_part, write_partial
from jobs.stage.runner import Stage, Step
from jobs.stage.stages import CODES, STAGES
from ops.arrays import Arrays, UInt8s
from ops.errors import counted
from ops.estimate.selection import expected_selected
from ops.estimate.spread import spread
from ops.schema import group_rows, meta_keys, schema
from ops.sentences.codes import coded, meta_kinds, name_kinds, sentence_table
from ops.sentences.pipeline import Annotation, Annotator
from ops.sentences.selection import IN_BASELINE, SELECTED, mark_sentences
from ops.sentences.vocabulary import vocabulary, write_places, write_vocabulary
from ops.shards import Shards
from ops.storage.store import Store
from ops.storage.tables import part_name, stored_bytes

# Files with a value for each sentence of the corpus: what it is annotated as (one byte), and its wins (four bytes).
MARKS, WINS = (f"{STAGES['annotate'].partials}/{name}.bin" for name in ("wanted", "wins"))
WARM_UP, TOGETHER = 16, 64  # sentences before the timing for a plan, and sentences timed at a time
COUNTS = b"atlas.counts"
COUNTED = ("sentences", "baseline", "winners", "tagged", "trees")


def annotate(config: AnnotateConfig, stage: Stage) -> dict[str, Any]:
    """Select and annotate the sentences shard by shard, list the names of their codes, and return the counts.

    Raises:
        RuntimeError: the number of annotated sentences is not the number of selected ones.
    """
    store, shards = stage.store, stage.record.shards()
    by_dataset = has_datasets(stage.record.require("topk"))
    marked = mark_sentences(store, shards, config.scope == "all", config.baseline_size, config.seed, by_dataset)
    store.commit(MARKS, marked.marks.tofile)
    store.commit(WINS, marked.wins.tofile)
    selected = sum(selected_of(marked.marks, shards))
    del marked
    args = {"store": store, "pipeline": config.pipeline, "fingerprint": stage.fingerprint, "seed": config.seed}
    stage.do(annotate_step(shards, selected, args))
    stage.do(vocabulary_step(store, len(shards), stage.fingerprint))
    with store.parquet(codes_file("vocabulary").path) as file:
        counts: dict[str, int] = json.loads(file.metadata.metadata[COUNTS])
    if counts["sentences"] != selected:
        raise RuntimeError(f"annotate: expected {selected} annotated sentences, found {counts['sentences']}")
    if counts["sentences"] and not counts["trees"]:
        print(
            f"annotate: {config.pipeline} gives no constituency trees, so tree is null and no subtrees are mined",
            file=sys.stderr,
        )
    return {**counts, "scored": stage.record.require("topk")["counts"]["scored"]}


def has_datasets(topk: dict[str, Any]) -> bool:
    """Tell, from the entry of `topk` in run.json, whether there are winners within data sets."""
    return bool(topk["identity"].get("k_per_dataset"))


def selected_of(marks: UInt8s, shards: Shards) -> list[int]:
    """Return the number of marked sentences in each shard."""
    return [int(np.count_nonzero(marks[slice(*shards.span(i))])) for i in range(len(shards))]


def codes_file(name: str, shard: int | None = None) -> Output:
    """Return a file of the codes that mining reads: the file of a `shard`, `vocabulary` or `vocabulary-places`."""
    stem = name if shard is None else f"{name}-{shard:05d}"
    return Output(f"{CODES}/{stem}.parquet", name if shard is None else f"{name}-{shard}")


def annotate_step(shards: Shards, sentences: int, args: Item) -> Step:
    """Return the step that annotates the given number of sentences; `args` are the arguments of `ShardAnnotator`."""
    items = [{"shard": i, "span": shards.span(i)} for i in range(len(shards))]
    work = ("sentences", sentences)
    return Step("annotate", items, shard_outputs, ShardAnnotator, args, "shards", work, actors=True)


def shard_outputs(item: Item) -> list[Output]:
    """Return the files of a shard: its codes, its part of sentences/, and the names of its codes."""
    shard = item["shard"]
    return [codes_file("shard", shard), table_part("sentences", shard, f"shard-{shard}"), shard_file("annotate", shard)]


class ShardAnnotator:
    """Annotates the selected sentences of shards, and writes the results."""

    def __init__(self, store: Store, pipeline: str, fingerprint: str, seed: int) -> None:
        import torch

        torch.set_num_threads(1)
        self.store, self.fingerprint, self.seed = store, fingerprint, seed
        self.annotator = Annotator(pipeline)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Annotate the selected sentences of one shard and commit its files."""
        shard = item["shard"]
        marks, wins = self._span(MARKS, np.uint8, *item["span"]), self._span(WINS, np.int32, *item["span"])
        selected = np.flatnonzero(marks)
        baseline, wins = marks[selected] & IN_BASELINE > 0, wins[selected]
        with self.store.parquet(part_name("corpus", shard)) as file:
            corpus = file.read().take(pa.array(selected))
        found = self.annotator.annotate(corpus["text"].to_pylist())
        table = sentence_table(corpus, found, baseline, wins, self.seed)
        publish_shard(self.store, shard, table, self.fingerprint)
        return {"shard": shard, "sentences": table.num_rows}

    def _span(self, name: str, kind: type[np.generic], first: int, stop: int) -> Arrays:
        """Return the values of the sentences `first` to `stop` - 1 from a file with one value per sentence."""
        size = np.dtype(kind).itemsize
        with self.store.filesystem.open_input_file(self.store.path(name)) as file:
            return np.frombuffer(file.read_at(size * (stop - first), size * first), kind)


def publish_shard(store: Store, shard: int, table: pa.Table, fingerprint: str) -> None:
    """Write the files of a shard, which `shard_outputs` lists, from its rows of `sentences/`."""
    codes, own = codes_file("shard", shard), shard_file("annotate", shard)
    numbers, names = coded(table)
    write_partial(store, codes, numbers, fingerprint, write=_in_one_group)
    limit = group_rows("sentences")
    groups = (table.slice(start, limit) for start in range(0, table.num_rows, limit))
    layout = schema("sentences", meta_keys(table.schema))
    table_part("sentences", shard, f"shard-{shard}").write(store, groups, fingerprint, layout)
    counts = {
        "sentences": table.num_rows,
        "baseline": table["is_baseline"].to_numpy().sum().item(),
        "winners": table["is_winner"].to_numpy().sum().item(),
        "tagged": table.num_rows - table["tags"].null_count,
        "trees": table.num_rows - table["tree"].null_count,
    }
    write_partial(store, own, names, fingerprint, write=_in_one_group, extra={COUNTS: json.dumps(counts).encode()})


def _in_one_group(table: pa.Table, path: str) -> None:
    pq.write_table(table, path, compression="zstd", row_group_size=max(table.num_rows, 1))


def vocabulary_step(store: Store, shards: int, fingerprint: str) -> Step:
    """Return the step, done in this process, that makes one list of the names of the codes of all shards."""
    args = {"store": store, "shards": shards, "fingerprint": fingerprint}
    outputs = [codes_file("vocabulary-places"), codes_file("vocabulary")]
    return Step("annotate: vocabulary", [{}], lambda _: outputs, VocabularyWriter, args, here=True)


class VocabularyWriter:
    """Combines the names of the codes of all shards; memory holds the distinct names."""

    def __init__(self, store: Store, shards: int, fingerprint: str) -> None:
        self.store, self.shards, self.fingerprint = store, shards, fingerprint

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Combine the names, and add up the counts of the shards."""
        with self.store.parquet(codes_file("shard", 0).path) as file:
            kinds = name_kinds(meta_kinds(file.schema_arrow.names))
        counts: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
        every = vocabulary(self._names(counts), kinds)
        distinct = sum(map(len, every.values()))
        counted = {COUNTS: json.dumps(counts).encode()}
        places, own = codes_file("vocabulary-places"), codes_file("vocabulary")
        own_footer = places.footer(self.fingerprint, self.shards)
        self.store.commit(places.path, lambda path: write_places(self._names(), every, path, own_footer))
        footer = {**own.footer(self.fingerprint, distinct), **counted}
        self.store.commit(own.path, lambda path: write_vocabulary(every, path, footer))
        return {}

    def _names(self, counts: Counter[str] | None = None) -> Iterator[pa.Table]:
        for names in read_partials(self.store, [shard_file("annotate", shard) for shard in range(self.shards)]):
            if counts is not None:
                counts.update(json.loads(names.schema.metadata[COUNTS]))
            yield names


def plan(config: AnnotateConfig, stage: Stage, record: DryRun) -> Plan:
    """Return what the stage would do."""
    shards, whole = record.shards(), config.scope == "all"
    entry = record.require("topk")
    topk = entry["counts"]
    size = config.baseline_size
    baseline = shards.sentences if whole or size is None else min(size, shards.sentences)
    marks = None
    if not record.is_expected("topk"):
        marks, _ = mark_sentences(record.store, shards, whole, size, config.seed, has_datasets(entry))
        chosen = selected_of(marks, shards)
    else:
        draws = [(topk["k"], topk["neurons"] * topk["poles"]), (topk["activation_sample"], 1), (baseline, 1)]
        within = topk["datasets"].values(), topk["k_per_dataset"], topk["neurons"] * topk["poles"]
        each = expected_selected(shards.sentences, draws, *within) / max(shards.sentences, 1)
        chosen = [round(each * (stop - first)) for first, stop in map(shards.span, range(len(shards)))]
    selected = sum(chosen)
    step = annotate_step(shards, selected, {})
    missing = stage.missing(step)
    to_do = sum(chosen[item["shard"]] for item in missing)

    sample = corpus_sample(record, len(shards))
    texts = [t for t, i in zip(sample.texts, sample.sent_ids, strict=True) if marks is None or marks[i] & SELECTED]
    found, seconds = time_annotation(Annotator(config.pipeline), texts, record.timed_s)
    columns = [[a.words for a in found], [a.tags for a in found], [a.tree for a in found]]
    annotated = stored_bytes(pa.table(columns, names=["words", "tags", "tree"])) / max(len(found), 1)
    plain = stored_bytes(pa.table([sample.texts, [d for _, d in sample.documents]], names=["text", "doc_id"]))
    table = selected * (annotated + plain / max(len(sample.texts), 1))
    about = "" if marks is not None else "about "
    work = [
        f"annotate {about}{to_do:,} of {about}{selected:,} sentences in {of_all(len(missing), len(shards), 'shard')}"
    ]
    work.append(f"{counted(baseline, 'sentence')} of them the baseline")
    basis = [f"timed {counted(len(found), 'sentence')} in {seconds:.1f} s"]
    if marks is None:
        basis.append("winners of different neurons are assumed to overlap only by chance")
    return Plan(
        work,
        spread_seconds(record, len(missing), stage.workers, seconds / max(len(found), 1) * to_do, actors=True),
        round(table + selected * annotated),
        round(table),
        [*basis, by_workers(stage.workers)],
        counts={"sentences": selected, "baseline": baseline},
    )


def time_annotation(annotator: Annotator, texts: list[str], at_most: float) -> tuple[list[Annotation], float]:
    """Annotate sentences spread over the sample for some seconds; return the annotations and the seconds taken."""
    annotator.annotate(texts[:WARM_UP])
    found: list[Annotation] = []
    order = spread(len(texts))
    started, seconds = time.perf_counter(), 0.0
    for start in range(0, len(order), TOGETHER):
        found += annotator.annotate([texts[i] for i in order[start : start + TOGETHER]])
        seconds = time.perf_counter() - started
        if seconds > at_most:
            break
    return found, seconds
