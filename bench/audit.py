"""Measures the time of `jobs.audit` for 9,216 neurons and six data sets, and prints one line of JSON.

    python -m bench audit

Real sentences (bench/texts.py) are annotated by the shipped pipeline. Documents of ten sentences belong to six data
sets in turn, and half of the sentences are the baseline. The winners of a few neurons are the sentences that are most
similar to a random direction of that neuron, over the corpus and within each data set (bench/mine.py). The neurons are
mined and explained; then the audit's own workers run in this process, on one thread. Seconds are processor time after a
warm-up, scaled to all neurons. The share of timed neurons with controls is the same as in a complete layer. The exit
status is 1 if the total is more than half a core-hour.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bench import explain, mine
from bench.mine import WIDTHS, Likeness
from bench.running import load, resident
from bench.steps import PRINT, seconds
from jobs.audit.steps import CONTROLLED, AuditArgs, AuditedDatasets, steps_of
from jobs.run_folder.stages import CODES
from ops import schema
from ops.sentences.local_copy import open_sentences
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.topk.neurons import POLES, Neurons

DATASETS = tuple(f"data set {number}" for number in range(1, 7))
MOST_HOURS = 0.5


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench audit", description=str(__doc__).splitlines()[0])
    parser.add_argument("--sentences", type=int, default=200_000, help="annotated sentences, half of them the baseline")
    parser.add_argument("--sample", type=int, default=10_000, help="sentences with activations")
    parser.add_argument("--k", type=int, default=1_000, help="winners of a neuron and pole, and within each data set")
    parser.add_argument("--winners", type=int, default=200, help="winners of a data set that are used")
    parser.add_argument("--neurons", type=int, default=12, help="neurons that are timed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        os.environ["ATLAS_CACHE"] = f"{folder}/cache"
        result, good = measure(folder, options)
    print(json.dumps({"bench": "audit", **result, "load": load()}))
    return 0 if good else 1


def measure(folder: str, options: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    """Return the time that the audit takes, and whether it is within the limit."""
    store, neurons = Store(f"{folder}/run"), Neurons(WIDTHS)
    mine.annotate(store, options.sentences, options.seed, DATASETS)
    mine.write_winners(store, options.k, options.neurons, options.seed)
    write_winners_by_dataset(store, options)
    explain.write_activations(store, options.sample, options.neurons, options.seed)
    explain.mine_all(store, options)
    for name, step in explain.explain_steps(store, options, controls=False).items():
        (explain.find_some_pairs if name == "families" else seconds)(step, store)
    args = AuditArgs(
        store=store, neurons=neurons, seed=options.seed, sentences=PRINT,
        units=tuple(f"1:{unit}" for unit in range(options.neurons)),
        datasets=AuditedDatasets("topk_by_dataset", DATASETS, (explain.SCORED // len(DATASETS),) * len(DATASETS)),
        mine=mine.mining_options(no_scores=True), winners=options.winners, card_literals=6, controls=True,
    )  # fmt: skip
    literals, last = steps_of(args, options.sentences, len(POLES))
    took = {"literals": seconds(literals, store)}
    controlled = max(round(options.neurons * CONTROLLED / WIDTHS[0]), 1)
    worker = last.worker(**last.args)
    worker.neurons.controlled = worker.neurons.controlled[:controlled]
    worker(last.items[0])
    started = time.process_time()
    for item in last.items:
        worker(item)
    took["neurons"] = (time.process_time() - started) / options.neurons * len(neurons)
    hours = sum(took.values()) / 3600
    result = {
        "sentences": options.sentences,
        "k_per_dataset": options.k,
        "winners": options.winners,
        "datasets": len(DATASETS),
        "neurons": {"timed": options.neurons, "with_controls": controlled, "of": len(neurons)},
        "seconds": {name: round(value, 1) for name, value in took.items()},
        "ms_a_neuron_and_pole": round(1000 * took["neurons"] / len(neurons) / len(POLES), 1),
        "core_hours": round(hours, 2),
        "most_bytes": resident()["VmHWM"],
    }
    return result, hours <= MOST_HOURS


def write_winners_by_dataset(store: Store, options: argparse.Namespace) -> None:
    """Write the first neurons' part of `topk_by_dataset/`, with the same number of winners in each data set."""
    sentences, rng = open_sentences(store, CODES, PRINT), np.random.default_rng([options.seed, options.k])
    likeness, rows = Likeness(sentences), []
    names = list(sentences.names["dataset"])
    for unit in range(options.neurons):
        order = np.argsort(likeness.draw(rng), kind="stable")
        for pole, ranked in enumerate((order, order[::-1])):
            for code, name in enumerate(names):
                own = ranked[np.asarray(sentences.dataset)[ranked] == code][: options.k]
                ids = np.asarray(sentences.sent_id)[own]
                key = {"layer": 1, "unit": unit, "pole": POLES[pole], "dataset": name, "activation": 0.0}
                rows += [key | {"rank": rank, "sent_id": number} for rank, number in enumerate(ids.tolist(), 1)]
    path = Path(store.path(part_name("topk_by_dataset", 0)))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(schema.table("topk_by_dataset", rows), path)


if __name__ == "__main__":
    sys.exit(main())
