"""The stage `annotate`, which adds words, tags and parses to the selected sentences, and codes for mining."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import torch

from jobs.annotate.job import AnnotateConfig
from jobs.engine.item import Item
from jobs.run_folder.run import Run
from jobs.run_folder.stages import CODES, STAGES
from jobs.stage.outputs import Noted, Output, Written, read_notes, read_partials, shard_file, table_part, with_notes
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.scored import Scored
from jobs.stage.step import Made, Step, Steps
from ops.arrays import Arrays
from ops.corpus.split_sentences import SentenceSplitter
from ops.corpus.token_windows import window_size
from ops.sampling import expected_selected
from ops.sentences.codes import coded, meta_kinds, name_kinds, sentence_table
from ops.sentences.pipeline import Annotator, describe, load_pipeline
from ops.sentences.selection import IN_BASELINE, mark_sentences
from ops.sentences.vocabulary import vocabulary, write_places, write_vocabulary
from ops.storage.store import Store
from ops.storage.tables import part_name

# Files with a value for each sentence of the corpus: what it is annotated as (one byte), and its wins (four bytes).
MARKS, WINS = (f"{STAGES['annotate'].partials}/{name}.bin" for name in ("wanted", "wins"))
COUNTED = ("sentences", "baseline", "winners", "tagged", "trees")


def annotate(config: AnnotateConfig, run: Run) -> None:
    """Run the stage, or the missing part of it."""
    run.require("topk")
    depends_on = {
        "pipeline": describe(load_pipeline(config.pipeline)),
        "scope": config.scope,
        "baseline_size": config.baseline_size,
        "seed": config.seed,
    }
    stage = begin_stage("annotate", config, run, depends_on)
    if stage is None:
        return
    sentences, scored = run.shards().sentences, Scored.of(run)
    size = sentences if config.scope == "all" or config.baseline_size is None else config.baseline_size
    baseline = min(size, sentences)
    draws = [(scored.k, scored.sets), (scored.sampled, 1), (baseline, 1)]
    within = scored.counts.get("datasets", {}).values(), scored.counts.get("k_per_dataset", 0), scored.sets
    expected = expected_selected(sentences, draws, *within)  # if winners of different neurons overlap only by chance
    counts = {"sentences": expected, "baseline": baseline}
    stage.complete(annotate_steps(config, stage, scored, expected), {"sentences": expected}, counts)


def annotate_steps(config: AnnotateConfig, stage: Stage, scored: Scored, expected: int) -> Steps:
    """Select and annotate the sentences shard by shard, list the names of their codes, and return the counts.

    Raises:
        RuntimeError: the number of annotated sentences is not the number of selected ones.
    """
    store, shards = stage.store, stage.run.shards()
    selected = [expected // len(shards)] * len(shards)
    if not stage.run.is_expected("topk"):
        by_dataset = bool(scored.identity.get("k_per_dataset"))
        marks, wins = mark_sentences(
            store, shards, config.scope == "all", config.baseline_size, config.seed, by_dataset
        )
        selected = [int(np.count_nonzero(marks[slice(*shards.span(i))])) for i in range(len(shards))]
        if not stage.is_planned:
            store.commit(MARKS, marks.tofile)
            store.commit(WINS, wins.tofile)
        del marks, wins
    items = [{"shard": i, "span": shards.span(i), "sentences": number} for i, number in enumerate(selected)]
    of_windows = window_size(stage.run.require("ingest")["identity"]["split"]) is not None
    yield [
        Step(
            name="annotate", items=items, outputs=shard_outputs, worker=ShardAnnotator,
            args={"store": store, "pipeline": config.pipeline, "seed": config.seed, "of_windows": of_windows},
            unit="shards",
            work=("sentences", sum(selected)), actors=True, amount=sum(selected),
        ),
        Step(
            name="annotate: vocabulary", items=[{}], outputs=lambda _: [PLACES, VOCABULARY], worker=list_names,
            args={"store": store, "shards": len(shards)}, here=True,
        ),
    ]  # fmt: skip
    (counts,) = read_notes(store, [VOCABULARY])
    if counts["sentences"] != sum(selected):
        raise RuntimeError(f"annotate: expected {sum(selected)} annotated sentences, found {counts['sentences']}")
    if counts["sentences"] and not counts["trees"]:
        stage.say(f"{config.pipeline} gives no constituency trees, so tree is null and no subtrees are mined")
    return {**counts, "scored": scored.sentences}


def codes_file(shard: int) -> Output:
    """Return the file of a shard's codes, which mining reads."""
    return Output(f"{CODES}/shard-{shard:05d}.parquet", f"shard-{shard}")


# The names of the codes of all shards, and where the names of each shard are among them.
VOCABULARY, PLACES = (Output(f"{CODES}/{name}.parquet", name) for name in ("vocabulary", "vocabulary-places"))


def shard_outputs(item: Item) -> list[Output]:
    """Return the files of a shard: its codes, its part of sentences/, and the names of its codes."""
    shard = item["shard"]
    return [codes_file(shard), table_part("sentences", shard, f"shard-{shard}"), shard_file("annotate", shard)]


class ShardAnnotator:
    """Annotates the selected sentences of shards."""

    def __init__(self, store: Store, pipeline: str, seed: int, of_windows: bool) -> None:
        torch.set_num_threads(1)
        self.store, self.seed = store, seed
        self.annotator = Annotator(pipeline, SentenceSplitter().split if of_windows else None)

    def __call__(self, item: Item) -> Made:
        """Annotate the selected sentences of one shard."""
        marks, wins = self._span(MARKS, np.uint8, *item["span"]), self._span(WINS, np.int32, *item["span"])
        selected = np.flatnonzero(marks)
        baseline, wins = marks[selected] & IN_BASELINE > 0, wins[selected]
        with self.store.parquet(part_name("corpus", item["shard"])) as file:
            corpus = file.read().take(pa.array(selected))
        annotations = self.annotator.annotate(corpus["text"].to_pylist())
        return shard_files(item, sentence_table(corpus, annotations, baseline, wins, self.seed))

    def _span(self, name: str, kind: type[np.generic], first: int, stop: int) -> Arrays:
        """Return the values of the sentences `first` to `stop` - 1 from a file with one value per sentence."""
        size = np.dtype(kind).itemsize
        with self.store.filesystem.open_input_file(self.store.path(name)) as file:
            return np.frombuffer(file.read_at(size * (stop - first), size * first), kind)


def shard_files(item: Item, table: pa.Table) -> Made:
    """Return the files of a shard, which `shard_outputs` lists, from its rows of `sentences/`."""
    numbers, names = coded(table)
    counts = {
        "sentences": table.num_rows,
        "baseline": table["is_baseline"].to_numpy().sum().item(),
        "winners": table["is_winner"].to_numpy().sum().item(),
        "tagged": table.num_rows - table["tags"].null_count,
        "trees": table.num_rows - table["tree"].null_count,
    }
    return dict(zip(shard_outputs(item), (numbers, table, Noted(names, counts)), strict=True))


def list_names(item: Item, store: Store, shards: int) -> Made:
    """Combine the names of the codes of all shards, and add up their counts; memory holds the distinct names."""
    with store.parquet(codes_file(0).path) as file:
        kinds = name_kinds(meta_kinds(file.schema_arrow.names))

    def tables() -> Iterator[pa.Table]:
        return read_partials(store, [shard_file("annotate", shard) for shard in range(shards)])

    notes: list[dict[str, int]] = []
    names = vocabulary(with_notes(tables(), notes), kinds)
    counts = {name: sum(note[name] for note in notes) for name in COUNTED}
    return {
        PLACES: Written(shards, lambda path, marks: write_places(tables(), names, path, marks)),
        VOCABULARY: Written(sum(map(len, names.values())), partial(write_vocabulary, names), counts),
    }
