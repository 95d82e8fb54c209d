"""Measures the time of `jobs.explain` for 9,216 neurons, or with --planted its accuracy.

    python -m bench explain
    python -m bench explain --planted

Real sentences (bench/texts.py) are annotated by the shipped pipeline, and half of them are the baseline. The winners of
a few neurons are the sentences that are most similar to a random direction of that neuron. The activations of these
neurons are similarities to a direction, and the activations of the other neurons are noise (bench/made_run.py). The
share of timed neurons with the controls of score cards is the same as in a complete layer. The steps' own workers run
in separate processes, on one thread. Seconds are processor time after a warm-up, scaled to all neurons. The exit status
is 1 if the total is more than three core-hours or if a worker takes more than 2 GB of memory.

With --planted the complete job runs on a model whose units are known functions (bench/planted.py). It runs once with K
equal to the number of sentences in which each unit is on, and once with half of that number. The exit status is 1 if
fewer than nine in ten units are found.
"""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.harness import Result, temporary_folder
from bench.made_run import WIDTHS, Likeness, annotate, mine_args, mine_steps, mining_options, write_likely_winners
from bench.planted import PLANTED, Planted, write_planted
from bench.resources import resident
from bench.running import PRINT, by_name, seconds
from jobs.explain.steps import ExplainArgs, pairs_file, steps_of
from jobs.mine.steps import baseline_blocks
from jobs.run import job as run
from jobs.run_folder.stages import CODES
from jobs.stage.step import Step
from ops.explain.controls import CARDED
from ops.explain.families import Pairs
from ops.model.load import read_facts
from ops.sentences.local_copy import open_sentences
from ops.storage.arrays import write_arrays
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import NEURONS_PER_PART, POLES, Neurons

SCORED = 82_000_000  # number of sentences of the corpus that the sample represents
MOST_HOURS, MOST_BYTES = 3.0, 2 << 30
STEPS = ("lists", "pool", "literals", "families", "neurons")
NUISANCE = ("length", "value", "hub")
FOUND, LEAST_F1, LEAST_RECALL = 0.9, 0.9, 0.95


def measure(
    sentences: int = 200_000, sample: int = 10_000, k: int = 10_000, neurons: int = 8, planted: bool = False,
    seed: int = 0,
) -> Result:  # fmt: skip
    """Time the job, or check it.

    Args:
        sentences: annotated sentences, half of them the baseline.
        sample: sentences with activations.
        k: winners of a neuron and pole.
        neurons: neurons that are timed.
        planted: run the job on a model whose units are known.
        seed: the seed of sentences, directions and the planted corpus.
    """
    with temporary_folder() as folder:
        if planted:
            return find_planted(folder, seed)
        made = MinedSample(Store(f"{folder}/run"), sentences, sample, k, neurons, seed)
        made.write()
        # Each step runs in its own process, like workers, so that its memory does not include that of earlier steps.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
            each = dict(zip(STEPS, pool.map(time_step, STEPS, repeat(made)), strict=True))
    took, held = ({name: one[place] for name, one in each.items()} for place in (0, 1))
    count, hours = sum(WIDTHS), sum(took.values()) / 3600
    return {
        "sentences": sentences,
        "sample": sample,
        "k": k,
        "neurons": {"timed": neurons, "of": count},
        "seconds": {name: round(value, 1) for name, value in took.items()},
        "ms_a_neuron_and_pole": round(1000 * took["neurons"] / count / len(POLES), 1),
        "core_hours": round(hours, 2),
        "most_bytes": held,
        "targets_met": hours <= MOST_HOURS and max(held.values()) <= MOST_BYTES,
    }


@dataclass(frozen=True)
class MinedSample:
    """A run of real sentences in which a few neurons have winners and are mined; it represents a large run.

    Attributes:
        store: the run's folder.
        sentences, sample, k, neurons, seed: see `measure`.
        datasets: the names of the data sets to which documents belong in turn.
    """

    store: Store
    sentences: int
    sample: int
    k: int
    neurons: int
    seed: int
    datasets: tuple[str, ...] = ()

    def write(self) -> None:
        """Write the tables that `explain` reads."""
        annotate(self.store, self.sentences, self.seed, self.datasets)
        write_likely_winners(self.store, self.k, self.neurons, self.seed)
        self._write_activations()
        args = mine_args(self.store, self.seed, no_scores=True)
        ranges = [{"range": 0, "first": 0, "stop": self.neurons}]
        for step in mine_steps(args, ranges, baseline_blocks(self.sentences), self.k).values():
            seconds(step, self.store)

    def explain_steps(self, **changes: Any) -> dict[str, Step]:
        """Return the steps of `explain` by name, with these changes to its arguments."""
        given: dict[str, Any] = {
            "store": self.store, "neurons": Neurons(WIDTHS), "seed": self.seed, "sentences": PRINT,
            "units": tuple(f"1:{unit}" for unit in range(self.neurons)), "scored": SCORED,
            "mine": mining_options(no_scores=True), "facts": read_facts("sample"), "k": self.k, "poles": len(POLES),
            "literals": 8, "card_literals": 6, "controls": True,
        }  # fmt: skip
        return by_name(steps_of(ExplainArgs(**{**given, **changes}), self.sample, self.sentences))

    def _write_activations(self) -> None:
        sentences, rng = open_sentences(self.store, CODES, PRINT), np.random.default_rng([self.seed, 1])
        rows = np.flatnonzero(sentences.baseline)[: self.sample]
        likeness = Likeness(sentences)
        columns = {"sent_id": pa.array(np.asarray(sentences.sent_id)[rows])}
        for layer, width in enumerate(WIDTHS, 1):
            values = rng.standard_normal((len(rows), width), np.float32)
            for unit in range(self.neurons if layer == 1 else 0):
                values[:, unit] = likeness.draw(rng)[rows]
            columns[f"layer_{layer}"] = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), width)
        table = pa.table(columns)
        write_part(self.store, "activations", 0, table.schema, [table], PRINT)


def time_step(name: str, made: MinedSample) -> tuple[float, int]:
    """Return the processor time of a step, scaled to all neurons, and the highest memory in bytes."""
    carded = max(round(made.neurons * CARDED / WIDTHS[0]), 1)
    step, store = made.explain_steps(carded=carded)[name], made.store
    if name == "families":
        took = find_some_pairs(step, store) * -(-sum(WIDTHS) // NEURONS_PER_PART)
    elif name == "neurons":
        took = seconds(step, store, warm=True) / made.neurons * sum(WIDTHS)
    else:
        took = seconds(step, store)
    return took, resident()["VmHWM"]


def find_some_pairs(step: Step, store: Store) -> float:
    """Find the pairs of the first range of neurons, and return the processor time; the other ranges have no pairs."""
    for item in step.items[1:]:
        pairs_file(item["range"]).commit(store, write_arrays(**vars(Pairs.joined([]))), PRINT)
    return seconds(step, store, 1)


def find_planted(folder: Path, seed: int) -> Result:
    """Return which of the planted units are found at each K, and whether these are enough."""
    on = 100
    model, corpus = write_planted(folder, 4_000, on, seed)
    rounds: dict[str, Any] = {}
    for k in (on, on // 2):
        rows, terms = run_planted(folder / f"k{k}", model, corpus, k)
        missed = [p for p in PLANTED if not is_found(p, rows[p.unit], terms.get(p.unit, []), k == on)]
        rounds[str(k)] = {
            "found": len(PLANTED) - len(missed),
            "of": len(PLANTED),
            "missed": sorted(f"{p.name} ({p.unit})" for p in missed),
        }
    return {"planted": rounds, "target_met": all(one["found"] >= FOUND * one["of"] for one in rounds.values())}


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
