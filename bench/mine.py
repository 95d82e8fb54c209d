"""Measures the time of each part of `jobs.mine` for a neuron and pole at several K.

    python -m bench mine

Real sentences (bench/texts.py) are annotated by the shipped pipeline. Each neuron's winners are the sentences that are
most similar to a random direction of that neuron in the space of their words and tags, with noise. The first neurons of
9,216 go through the steps' own workers in this process, on one thread. Seconds are processor time after a warm-up.

Everything else is scaled to all neurons. `sampled` is the number of neurons that were mined. `union` is the number of
their candidates, with an estimate for all neurons. The estimate assumes that the union keeps growing as it does from
half of the sample to the complete sample, and counting is scaled by it. The exit status is 1 if the tables of the same
neurons differ when they are computed one set at a time.
"""

from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from bench.harness import Result, temporary_folder
from bench.made_run import WIDTHS, annotate, mine_args, mine_steps, write_likely_winners
from bench.running import PRINT, seconds
from jobs.mine.steps import baseline_blocks
from jobs.run_folder.stages import CODES
from jobs.stage.outputs import read_partial
from jobs.stage.step import Step
from ops.mine.candidates import unite
from ops.mine.sentence_sets import spans_within
from ops.sentences.local_copy import open_sentences
from ops.storage.store import Store
from ops.topk.neurons import POLES

SETS = sum(WIDTHS) * len(POLES)
SAMPLES = {100: 64, 1_000: 16, 10_000: 4}  # for each K, the number of mined neurons, all in one item of work
# The modules of `ops.mine` that process several sets at a time.
CHUNKED = ("sentence_sets", "findings", "naive_bayes")


def measure(
    sentences: int = 20_000, baseline: int = 1_000_000, k: tuple[int, ...] = tuple(SAMPLES), seed: int = 0
) -> Result:
    """Time the steps at each K.

    Args:
        sentences: annotated sentences, half of them the baseline.
        baseline: sentences of the baseline to which counting is scaled.
        k: winners of a neuron and pole: 100, 1000 or 10000; several are possible.
        seed: the seed of sentences and directions.
    """
    with temporary_folder() as folder:
        store = Store(f"{folder}/run")
        annotate(store, sentences, seed)
        measured = {str(one): measure_at(store, one, seed, baseline) for one in k}
    equal = all(one["equal_tables"] for one in measured.values())
    return {"sentences": sentences, "baseline_scaled_to": baseline, "k": measured, "equal_tables": equal}


def measure_at(store: Store, k: int, seed: int, baseline: int) -> dict[str, Any]:
    """Return every measurement at one K, each after a warm-up on the same item."""
    sampled = SAMPLES[k]
    write_likely_winners(store, k, sampled, seed)
    sentences = open_sentences(store, CODES, PRINT)
    ranges, blocks = [{"range": 0, "first": 0, "stop": sampled}], baseline_blocks(len(sentences.sent_id))
    steps, bare_steps = (
        mine_steps(mine_args(store, seed, no_scores=bare), ranges, blocks, k) for bare in (False, True)
    )

    winners_s = seconds(bare_steps["patterns"], store, warm=True)
    patterns_s = seconds(steps["patterns"], store, warm=True)
    seconds(steps["union"], store)
    count_s = seconds(steps["baseline"], store, warm=True)
    seconds(steps["totals"], store)
    tables_s = seconds(bare_steps["tables"], store, warm=True)
    whole_s = seconds(steps["tables"], store, warm=True)
    equal = is_equal(store, steps)

    sets, counted = sampled * len(POLES), int(np.count_nonzero(sentences.baseline))
    now, all_neurons = candidates(store, steps["patterns"], sets)
    hours = {
        "neurons": (patterns_s + whole_s) / sets * SETS / 3600,
        "counting": count_s * baseline / counted * all_neurons / max(now, 1) / 3600,
    }
    parts = {
        "patterns": winners_s,
        "halves": patterns_s - winners_s,
        "tables": tables_s,
        "scores": whole_s - tables_s,
        "all": patterns_s + whole_s,
    }
    return {
        "sampled": {"neurons": sampled, "of": sum(WIDTHS), "baseline_sentences": counted},
        "ms_a_neuron_and_pole": {name: round(1000 * took / sets, 2) for name, took in parts.items()},
        "union": {"of_the_sample": now, "of_all_estimated": all_neurons},
        "counting_us_a_sentence": round(1e6 * count_s / counted, 1),
        "core_hours": {name: round(value, 2) for name, value in {**hours, "all": sum(hours.values())}.items()},
        "equal_tables": equal,
    }


def is_equal(store: Store, steps: dict[str, Step]) -> bool:
    """Return whether processing one set at a time gives the same candidates and tables as processing a range."""
    by_range = [steps["patterns"], steps["tables"]]
    before = [table for step in by_range for table in read_all(store, step)]
    with ExitStack() as patches:
        for name in CHUNKED:
            patches.enter_context(patch(f"ops.mine.{name}.spans_within", lambda offsets, _: spans_within(offsets, 1)))
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
