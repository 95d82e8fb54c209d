"""Measures the time of each part of `jobs.mine` for a neuron and pole at several K, and prints one line of JSON.

    python -m bench mine

Real sentences (bench/texts.py) are annotated by the shipped pipeline. Each neuron's winners are the sentences that are
most similar to a random direction of that neuron in the space of their words and tags, with noise. The first neurons of
9,216 go through the steps' own workers in this process, on one thread. Seconds are processor time after a warm-up.

Everything else is scaled to all neurons. `sampled` is the number of neurons that were mined. `union` is the number of
their candidates, with an estimate for all neurons. The estimate assumes that the union keeps growing as it does from
half of the sample to the complete sample, and counting is scaled by it. The exit status is 1 if the tables of the same
neurons differ when they are computed one set at a time.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from bench.running import load
from bench.steps import PRINT, by_name, commit, seconds
from bench.texts import draw
from jobs.annotate.steps import list_names, shard_files
from jobs.engine.item import Item
from jobs.mine.job import MINE_OPTIONS, MineConfig
from jobs.mine.steps import MineArgs, baseline_blocks, steps_of
from jobs.run_folder.stages import CODES
from jobs.stage.outputs import read_partial
from jobs.stage.scored import Scored
from jobs.stage.step import Step
from ops.arrays import Float64s, Int64s
from ops.mine.candidates import unite
from ops.mine.sentence_sets import spans_within
from ops.patterns.sequences import Sequences
from ops.schema import schema
from ops.sentences.codes import sentence_table
from ops.sentences.local_copy import open_sentences
from ops.sentences.pipeline import SHIPPED, Annotator
from ops.sentences.store import SentenceStore
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import POLES, Neurons

WIDTHS = (768,) * 12
SETS = sum(WIDTHS) * len(POLES)
# For each K, the number of mined neurons, and the number of neurons in an item of work.
SAMPLES = {100: (64, 64), 1_000: (16, 16), 10_000: (4, 4)}
# The modules of `ops.mine` that process several sets at a time.
CHUNKED = ("sentence_sets", "pattern_rows", "score_sets")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench mine", description=str(__doc__).splitlines()[0])
    parser.add_argument("--sentences", type=int, default=20_000, help="annotated sentences, half of them the baseline")
    parser.add_argument("--baseline", type=int, default=1_000_000, help="baseline that counting is scaled to")
    parser.add_argument("--k", type=int, nargs="*", default=sorted(SAMPLES), choices=sorted(SAMPLES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        os.environ["ATLAS_CACHE"] = f"{folder}/cache"
        annotate(Store(f"{folder}/run"), options.sentences, options.seed)
        measured = {str(k): measure(f"{folder}/run", k, options.seed, options.baseline) for k in options.k}
    equal = all(m["equal_tables"] for m in measured.values())
    result = {"bench": "mine", "sentences": options.sentences, "baseline_scaled_to": options.baseline, "k": measured}
    print(json.dumps({**result, "equal_tables": equal, "load": load()}))
    return 0 if equal else 1


def annotate(store: Store, count: int, seed: int, datasets: Sequence[str] = ()) -> None:
    """Write real sentences in the form in which `annotate` writes them; every second sentence is in the baseline.

    Documents of ten sentences belong to the data sets in turn. If no data sets are given, every third sentence belongs
    to another data set than the rest.
    """
    texts = draw(count, seed)
    ids = np.arange(len(texts))
    corpus = pa.table(
        {
            "sent_id": pa.array(ids),
            "text": pa.array(texts),
            "dataset": pa.array(
                np.array(datasets)[ids // 10 % len(datasets)] if datasets else np.where(ids % 3 == 0, "news", "docs")
            ),
            "doc_id": pa.array([f"d{i // 10}" for i in ids]),
        }
    )
    annotations = Annotator(SHIPPED).annotate(texts)
    table = sentence_table(corpus, annotations, ids % 2 == 0, np.ones(len(ids), np.int32), seed)
    commit(store, shard_files({"shard": 0}, table))
    commit(store, list_names({}, store, 1))


def mining_options(**changes: Any) -> dict[str, Any]:
    """Return the options of `jobs.mine`: the defaults, except for the changes."""
    every = MineConfig.model_validate({"out": "-"}).model_dump(mode="json")
    return {name: every[name] for name in MINE_OPTIONS} | changes


def mine_steps(args: MineArgs, ranges: list[Item], blocks: list[Item], k: int) -> dict[str, Step]:
    """Return the steps of `mine` by name; K and the poles of what was scored serve only to estimate the time."""
    return by_name(steps_of(args, ranges, blocks, Scored({"k": k, "poles": "both"}, {"scored": k}, {}, args.neurons)))


def measure(out: str, k: int, seed: int, baseline: int) -> dict[str, Any]:
    """Return every measurement at one K, each after a warm-up on the same item."""
    store, (sampled, size) = Store(out), SAMPLES[k]
    write_winners(store, k, sampled, seed)
    args = MineArgs(store=store, neurons=Neurons(WIDTHS), seed=seed, sentences=PRINT, options=mining_options())
    bare = replace(args, options=mining_options(no_scores=True))
    ranges = [{"range": i, "first": f, "stop": min(f + size, sampled)} for i, f in enumerate(range(0, sampled, size))]
    sets, sentences = sampled * len(POLES), open_sentences(store, CODES, PRINT)
    steps, bare_steps = (
        mine_steps(given, ranges, baseline_blocks(len(sentences.sent_id)), k) for given in (args, bare)
    )

    winners_s = seconds(bare_steps["patterns"], store, warm=True)
    patterns_s = seconds(steps["patterns"], store, warm=True)
    seconds(steps["union"], store)
    count_s = seconds(steps["baseline"], store, warm=True)
    seconds(steps["totals"], store)
    tables_s = seconds(bare_steps["tables"], store, warm=True)
    whole_s = seconds(steps["tables"], store, warm=True)
    equal = is_equal(store, steps)

    now, all_neurons = candidates(store, steps["patterns"], sets)
    counted = int(np.count_nonzero(sentences.baseline))
    counting_s = count_s * baseline / counted * all_neurons / max(now, 1)
    parts = {
        "patterns": winners_s,
        "halves": patterns_s - winners_s,
        "tables": tables_s,
        "scores": whole_s - tables_s,
    }
    ms = {name: round(1000 * took / sets, 2) for name, took in parts.items()}
    total = sum(parts.values()) / sets * SETS
    return {
        "sampled": {"neurons": sampled, "of": sum(WIDTHS), "baseline_sentences": counted},
        "ms_a_neuron_and_pole": {**ms, "all": round(1000 * sum(parts.values()) / sets, 2)},
        "union": {"of_the_sample": now, "of_all_estimated": all_neurons},
        "counting_us_a_sentence": round(1e6 * count_s / counted, 1),
        "core_hours": {
            "neurons": round(total / 3600, 2),
            "counting": round(counting_s / 3600, 2),
            "all": round((total + counting_s) / 3600, 2),
        },
        "equal_tables": equal,
    }


def write_winners(store: Store, k: int, neurons: int, seed: int) -> None:
    """Write the first neurons' part of `topk/`, and `neurons/`."""
    write_neurons(store, Neurons(WIDTHS))
    sentences, rng = open_sentences(store, CODES, PRINT), np.random.default_rng([seed, k])
    likeness = Likeness(sentences)
    columns: dict[str, list[Int64s]] = {"unit": [], "pole": [], "rank": [], "sent_id": []}
    for neuron in range(neurons):
        order = np.argsort(likeness.draw(rng), kind="stable")
        for pole, rows in enumerate((order[:k], order[::-1][:k])):
            constants = {"unit": neuron, "pole": pole}
            columns["rank"].append(np.arange(1, len(rows) + 1))
            columns["sent_id"].append(sentences.sent_id[rows])
            for name, value in constants.items():
                columns[name].append(np.full(len(rows), value))
    whole = {name: np.concatenate(parts) for name, parts in columns.items()}
    layout = schema("topk")
    table = pa.table(
        {
            "layer": np.ones(len(whole["unit"]), np.int16),
            "unit": whole["unit"].astype(np.int32),
            "pole": pa.array(POLES).take(pa.array(whole["pole"])),
            "rank": whole["rank"].astype(np.int32),
            "activation": np.zeros(len(whole["unit"]), np.float32),
            "sent_id": whole["sent_id"],
        }
    )
    write_part(store, "topk", 0, layout, [table], PRINT)


def write_neurons(store: Store, neurons: Neurons) -> None:
    """Write the columns of `neurons/` that tell which neurons are silent; none is."""
    layer, unit = neurons.layer_and_unit(np.arange(len(neurons)))
    measures = {name: np.full(len(neurons), value) for name, value in (("std", 1.0), ("min", -1.0), ("max", 1.0))}
    table = pa.table({"layer": layer, "unit": unit, **measures})
    write_part(store, "neurons", 0, table.schema, [table], PRINT)


class Likeness:
    """Similarities of sentences to random directions: mean random weights of their words and tags, plus noise."""

    def __init__(self, sentences: SentenceStore) -> None:
        rows = np.arange(len(sentences.sent_id))
        self.sorts = [
            (sentences.words(rows), len(sentences.names["word"])),
            (sentences.tags(rows), len(sentences.names["tag"])),
        ]

    def draw(self, rng: np.random.Generator) -> Float64s:
        """Draw a direction and return the similarity of each sentence to it, `[sentences]`."""
        found = rng.normal(0, 0.1, len(self.sorts[0][0]))
        for sequences, names in self.sorts:
            found += mean_of(sequences, rng.normal(size=names))
        return found


def mean_of(sequences: Sequences, weights: Float64s) -> Float64s:
    """Return the mean weight of each sentence's items, or 0 for a sentence without items."""
    running = np.concatenate(([0.0], np.cumsum(weights[sequences.items])))
    return np.diff(running[sequences.offsets]) / np.maximum(sequences.lengths, 1)


def is_equal(store: Store, steps: dict[str, Step]) -> bool:
    """Return whether processing one set at a time gives the same candidates and tables as processing a range."""
    by_range = [steps["patterns"], steps["tables"]]
    before = [table for step in by_range for table in read_all(store, step)]
    with ExitStack() as patches:
        for name in CHUNKED:
            patches.enter_context(
                patch(f"ops.mine.{name}.spans_within", lambda offsets, most: spans_within(offsets, 1))
            )
        for step in by_range:
            seconds(step, store)
    after = [table for step in by_range for table in read_all(store, step)]
    return all(a.equals(b) for a, b in zip(before, after, strict=True))


def read_all(store: Store, step: Step) -> list[pa.Table]:
    """Return the tables of all files of a step."""
    return [read_partial(store, output) for item in step.items for output in step.outputs(item)]


def candidates(store: Store, patterns: Step, sets: int) -> tuple[int, int]:
    """Return the number of distinct candidates in the sample, and an estimate of the number for all neurons.

    The estimate is Heaps' law fitted to two points: half of the sampled neurons and poles, and all of them.
    """
    whole = pa.concat_tables(read_all(store, patterns)).unify_dictionaries()
    number = whole["set"].to_numpy()
    half = whole.filter(pa.array(number < np.median(np.unique(number))))
    few, many = unite([half]).num_rows, unite([whole]).num_rows
    growth = np.log2(many / few) if few else 0.0
    return many, round(many * (SETS / sets) ** growth)


if __name__ == "__main__":
    sys.exit(main())
