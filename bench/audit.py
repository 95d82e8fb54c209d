"""Measures the time of `jobs.audit` for 9,216 neurons and six data sets.

    python -m bench audit

The run is that of `bench explain`: real sentences, annotated by the shipped pipeline, and a few neurons. Documents of
ten sentences belong to six data sets in turn. The winners of a neuron within each data set are the sentences that are
most similar to a random direction. The neurons are mined and explained; then the audit's own workers run in this
process, on one thread. Seconds are processor time after a warm-up, scaled to all neurons. The share of timed neurons
with controls is the same as in a complete layer. The exit status is 1 if the total is more than half a core-hour.
"""

import numpy as np

from bench.explain import SCORED, MinedSample, find_some_pairs
from bench.harness import Result, temporary_folder
from bench.made_run import WIDTHS, Likeness, mining_options
from bench.resources import resident, timed
from bench.running import PRINT, seconds
from jobs.audit.steps import CONTROLLED, AuditArgs, steps_of
from jobs.run_folder.stages import CODES
from ops import schema
from ops.sentences.local_copy import open_sentences
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.datasets import Datasets
from ops.topk.neurons import POLES, Neurons

DATASETS = tuple(f"data set {number}" for number in range(1, 7))
MOST_HOURS = 0.5


def measure(
    sentences: int = 200_000, sample: int = 10_000, k: int = 1_000, winners: int = 200, neurons: int = 12,
    seed: int = 0,
) -> Result:  # fmt: skip
    """Time the job.

    Args:
        sentences: annotated sentences, half of them the baseline.
        sample: sentences with activations.
        k: winners of a neuron and pole, and within each data set.
        winners: winners of a data set that are used.
        neurons: neurons that are timed.
        seed: the seed of sentences and directions.
    """
    with temporary_folder() as folder:
        made = MinedSample(Store(f"{folder}/run"), sentences, sample, k, neurons, seed, DATASETS)
        made.write()
        write_winners_by_dataset(made)
        for name, step in made.explain_steps(controls=False).items():
            (find_some_pairs if name == "families" else seconds)(step, made.store)
        args = AuditArgs(
            store=made.store, neurons=Neurons(WIDTHS), seed=seed, sentences=PRINT,
            units=tuple(f"1:{unit}" for unit in range(neurons)),
            datasets=Datasets(k, DATASETS, (SCORED // len(DATASETS),) * len(DATASETS)),
            mine=mining_options(no_scores=True), winners=winners, card_literals=6, controls=True,
        )  # fmt: skip
        literals, last = steps_of(args, sentences, len(POLES))
        took = {"literals": seconds(literals, made.store)}
        controlled = max(round(neurons * CONTROLLED / WIDTHS[0]), 1)
        worker = last.worker(**last.args)
        worker.neurons.controlled = worker.neurons.controlled[:controlled]
        worker(last.items[0])
        took["neurons"] = timed(lambda: [worker(item) for item in last.items])[0].processor / neurons * sum(WIDTHS)
    hours = sum(took.values()) / 3600
    return {
        "sentences": sentences,
        "k_per_dataset": k,
        "winners": winners,
        "datasets": len(DATASETS),
        "neurons": {"timed": neurons, "with_controls": controlled, "of": sum(WIDTHS)},
        "seconds": {name: round(value, 1) for name, value in took.items()},
        "ms_a_neuron_and_pole": round(1000 * took["neurons"] / sum(WIDTHS) / len(POLES), 1),
        "core_hours": round(hours, 2),
        "most_bytes": resident()["VmHWM"],
        "target_met": hours <= MOST_HOURS,
    }


def write_winners_by_dataset(made: MinedSample) -> None:
    """Write the first neurons' part of `topk_by_dataset/`, with the same number of winners in each data set."""
    sentences, rng = open_sentences(made.store, CODES, PRINT), np.random.default_rng([made.seed, made.k])
    likeness, rows = Likeness(sentences), []
    names = list(sentences.names["dataset"])
    for unit in range(made.neurons):
        order = np.argsort(likeness.draw(rng), kind="stable")
        for pole, ranked in enumerate((order, order[::-1])):
            for code, name in enumerate(names):
                own = ranked[np.asarray(sentences.dataset)[ranked] == code][: made.k]
                ids = np.asarray(sentences.sent_id)[own]
                key = {"layer": 1, "unit": unit, "pole": POLES[pole], "dataset": name, "activation": 0.0}
                rows += [key | {"rank": rank, "sent_id": number} for rank, number in enumerate(ids.tolist(), 1)]
    table = schema.table("topk_by_dataset", rows)
    write_part(made.store, "topk_by_dataset", 0, table.schema, [table], PRINT)
