"""Measures the time of `jobs.explain` for 9,216 neurons, or with --planted its accuracy; prints one line of JSON.

    python -m bench explain
    python -m bench explain --planted

Real sentences (bench/texts.py) are annotated by the shipped pipeline, and half of them are the baseline. The winners of
a few neurons are the sentences that are most similar to a random direction of that neuron (bench/mine.py). The
activations of these neurons are those similarities, and the activations of the other neurons are noise. The share of
timed neurons with the controls of score cards is the same as in a complete layer. The steps' own workers run in
separate processes, on one thread. Seconds are processor time after a warm-up, scaled to all neurons. The exit status is
1 if the total is more than three core-hours or if a worker takes more than 2 GB of memory.

With --planted the complete job runs on a model whose units are known functions (bench/planted.py). It runs once with K
equal to the number of sentences in which each unit is on, and once with half of that number. The exit status is 1 if
fewer than nine in ten units are found.
"""

import argparse
import json
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import mine
from bench.mine import WIDTHS, Likeness
from bench.planted import PLANTED, Planted, write_planted
from bench.running import load, resident
from bench.steps import PRINT, by_name, seconds
from jobs.explain.steps import ExplainArgs, pairs_file, steps_of
from jobs.mine.steps import MineArgs, baseline_blocks
from jobs.run import job as run
from jobs.run_folder.stages import CODES
from jobs.stage.step import Step
from ops.explain.controlled_units import CARDED
from ops.explain.families import Pairs
from ops.model.load import read_facts
from ops.sentences.local_copy import open_sentences
from ops.storage.arrays import write_arrays
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk.neurons import NEURONS_PER_PART, POLES, Neurons

SCORED = 82_000_000  # number of sentences of the corpus that the sample represents
MOST_HOURS, MOST_BYTES = 3.0, 2 << 30
NUISANCE = ("length", "value", "hub")
FOUND, LEAST_F1, LEAST_RECALL = 0.9, 0.9, 0.95


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench explain", description=str(__doc__).splitlines()[0])
    parser.add_argument("--sentences", type=int, default=200_000, help="annotated sentences, half of them the baseline")
    parser.add_argument("--sample", type=int, default=10_000, help="sentences with activations")
    parser.add_argument("--k", type=int, default=10_000, help="winners of a neuron and pole")
    parser.add_argument("--neurons", type=int, default=8, help="neurons that are timed")
    parser.add_argument("--planted", action="store_true", help="run the job on a model whose units are known")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        os.environ["ATLAS_CACHE"] = f"{folder}/cache"
        result, good = find_planted(Path(folder), options.seed) if options.planted else measure(folder, options)
    print(json.dumps({"bench": "explain", **result, "load": load()}))
    return 0 if good else 1


def measure(folder: str, options: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    """Return the time that each step takes, and whether time and memory are within the limits."""
    store = Store(f"{folder}/run")
    mine.annotate(store, options.sentences, options.seed)
    mine.write_winners(store, options.k, options.neurons, options.seed)
    write_activations(store, options.sample, options.neurons, options.seed)
    mine_all(store, options)
    took, held = {}, {}
    for name in ("lists", "pool", "literals", "families", "neurons"):
        # Each step runs in its own process, like workers, so that its memory does not include that of earlier steps.
        with ProcessPoolExecutor(1, get_context("spawn")) as processes:
            took[name], held[name] = processes.submit(time_step, name, store, options).result()
    count, hours = sum(WIDTHS), sum(took.values()) / 3600
    result = {
        "sentences": options.sentences,
        "sample": options.sample,
        "k": options.k,
        "neurons": {"timed": options.neurons, "of": count},
        "seconds": {name: round(value, 1) for name, value in took.items()},
        "ms_a_neuron_and_pole": round(1000 * took["neurons"] / count / len(POLES), 1),
        "core_hours": round(hours, 2),
        "most_bytes": held,
    }
    return result, hours <= MOST_HOURS and max(held.values()) <= MOST_BYTES


def mine_all(store: Store, options: argparse.Namespace) -> None:
    """Mine the first neurons, without scores."""
    args = MineArgs(
        store=store, neurons=Neurons(WIDTHS), seed=options.seed, sentences=PRINT,
        options=mine.mining_options(no_scores=True),
    )  # fmt: skip
    ranges = [{"range": 0, "first": 0, "stop": options.neurons}]
    for step in mine.mine_steps(args, ranges, baseline_blocks(options.sentences), options.k).values():
        seconds(step, store)


def explain_steps(store: Store, options: argparse.Namespace, **changes: Any) -> dict[str, Step]:
    """Return the steps of `explain` by name, with these changes to its arguments."""
    given: dict[str, Any] = {
        "store": store, "neurons": Neurons(WIDTHS), "seed": options.seed, "sentences": PRINT,
        "units": tuple(f"1:{unit}" for unit in range(options.neurons)), "scored": SCORED,
        "mine": mine.mining_options(no_scores=True), "facts": read_facts("sample"), "k": options.k, "poles": len(POLES),
        "literals": 8, "card_literals": 6, "controls": True,
    }  # fmt: skip
    return by_name(steps_of(ExplainArgs(**{**given, **changes}), options.sample, options.sentences))


def time_step(name: str, store: Store, options: argparse.Namespace) -> tuple[float, int]:
    """Return the processor time of a step, scaled to all neurons, and the highest memory in bytes.

    Args:
        name: the name of the step.
        store: the run's folder, complete up to the previous step.
        options: the options of the command line.
    """
    step = explain_steps(store, options, carded=max(round(options.neurons * CARDED / WIDTHS[0]), 1))[name]
    if name == "families":
        took = find_some_pairs(step, store) * -(-sum(WIDTHS) // NEURONS_PER_PART)
    elif name == "neurons":
        took = seconds(step, store, warm=True) / options.neurons * sum(WIDTHS)
    else:
        took = seconds(step, store)
    return took, resident()["VmHWM"]  # not ru_maxrss, which may be that of the parent process


def find_some_pairs(step: Step, store: Store) -> float:
    """Find the pairs of the first range of neurons, and return the processor time; the other ranges have no pairs."""
    for item in step.items[1:]:
        pairs_file(item).commit(store, write_arrays(**vars(Pairs.joined([]))), PRINT)
    return seconds(step, store, 1)


def write_activations(store: Store, sample: int, own: int, seed: int) -> None:
    """Write `activations/`: sentences' similarities to a direction for the first neurons, and noise for all others."""
    sentences, rng = open_sentences(store, CODES, PRINT), np.random.default_rng([seed, 1])
    rows = np.flatnonzero(sentences.baseline)[:sample]
    likeness = Likeness(sentences)
    columns = {"sent_id": pa.array(np.asarray(sentences.sent_id)[rows])}
    for layer, width in enumerate(WIDTHS, 1):
        values = rng.standard_normal((len(rows), width), np.float32)
        if layer == 1:
            for unit in range(own):
                values[:, unit] = likeness.draw(rng)[rows]
        columns[f"layer_{layer}"] = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), width)
    path = Path(store.path(part_name("activations", 0)))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def find_planted(folder: Path, seed: int) -> tuple[dict[str, Any], bool]:
    """Return which of the planted units are found, and whether these are enough."""
    on = 100
    model, corpus = write_planted(folder, 4_000, on, seed)
    rounds: dict[str, Any] = {}
    for k in (on, on // 2):
        rows, terms = run_planted(folder / f"k{k}", model, corpus, k)
        found = [own.unit for own in PLANTED if is_found(own, rows[own.unit], terms.get(own.unit, []), k == on)]
        rounds[str(k)] = {
            "found": len(found),
            "of": len(PLANTED),
            "missed": sorted(f"{p.name} ({p.unit})" for p in PLANTED if p.unit not in found),
        }
    return {"planted": rounds}, all(one["found"] >= FOUND * one["of"] for one in rounds.values())


def run_planted(out: Path, model: Path, corpus: Path, k: int) -> tuple[dict[int, Any], dict[int, list[Any]]]:
    """Run the main job; return the explanation of each unit's top pole, and the literals of its card in order."""
    options = {"out": str(out), "model": str(model), "corpus": (str(corpus),), "split": "none", "k": k, "workers": 1}
    more = {"site": "mlp", "pool": "last", "activation_sample": 4_000, "no_tokens": True, "poles": "top"}
    with redirect_stderr(StringIO()), redirect_stdout(StringIO()):
        run.JOB.run(run.RunConfig.model_validate({**options, **more}))
    rows = {row["unit"]: row for row in pq.read_table(out / "explanations").to_pylist() if row["layer"] == 2}
    terms: dict[int, list[Any]] = {}
    for term in pq.read_table(out / "explanation_terms").to_pylist():
        if term["layer"] == 2 and term["model"] == "winners":
            terms.setdefault(term["unit"], []).append(term)
    return rows, terms


def is_found(own: Planted, row: dict[str, Any], terms: list[Any], all_on: bool) -> bool:
    """Return whether an explanation matches the planted function; with a smaller K, recall is checked instead of F1."""
    if row["verdict"] not in own.verdicts:
        return False
    if not own.literals:
        return True
    said = [term for term in terms if term["kind"] not in NUISANCE]
    first = bool(said) and (said[0]["pattern"] in own.literals or bool(set(said[0]["items"]) & set(own.literals)))
    negated = not own.negated or any(t["negated"] and t["pattern"] == own.negated for t in terms)
    good: bool = row["f1"] >= LEAST_F1 if all_on else row["recall"] >= LEAST_RECALL
    return first and negated and good


if __name__ == "__main__":
    sys.exit(main())
