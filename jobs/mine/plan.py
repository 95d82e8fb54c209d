"""The plan of `mine`; if its input exists already, the plan times all steps on some neurons."""

import os
import tempfile
import time
from dataclasses import dataclass, field, replace
from math import log2

from jobs.engine.item import Item
from jobs.mine.job import MineConfig
from jobs.mine.steps import MineArgs, mine_args, mine_steps, neuron_ranges, range_file, sentence_runs, tables
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, spread_seconds
from jobs.stage.files import read_partial
from jobs.stage.runner import Stage, Step
from jobs.stage.stages import STAGES
from ops.arrays import Int64s
from ops.errors import counted
from ops.mine.candidates import unite
from ops.mine.mining import MINED
from ops.sentences.local_copy import drop_sentences, has_copy
from ops.storage.store import Store
from ops.topk.neurons import Neurons, neuron_and_pole, read_neurons

# number of neurons timed together, as in a range; one neuron runs before them, because code is compiled at first use
NEURONS = 32
MOST_SENTENCES = 100_000  # most sentences for which neurons are timed, because all sentences are counted
COUNTED = "mine: baseline"  # the step whose time grows with the number of patterns
# Measured (docs/scale.md): the seconds of each step per winner of a neuron and pole, with 1,000 winners and held-out
# scores; and the bytes per neuron and pole in the tables, with 2,304 neurons and 100 winners.
WINNER_S = {"mine: patterns": 119e-6, "mine: tables": 71e-6}
SET_BYTES = 33_000


def plan(config: MineConfig, stage: Stage, record: DryRun) -> Plan:
    """Return what the stage would do."""
    topk, sentences = record.require("topk"), record.require("annotate")["counts"]["sentences"]
    expected = record.is_expected("topk") or record.is_expected("annotate")
    there = Neurons((topk["counts"]["neurons"],)) if expected else read_neurons(record.store)
    args = mine_args(config, stage, there)
    neurons = args.mined
    own = neurons + config.null_sets
    sets = neurons * (2 if topk["identity"]["poles"] == "both" else 1)
    winners = (sets + 2 * config.null_sets) * min(topk["identity"]["k"], sentences)
    steps = mine_steps(args, neuron_ranges(neurons, topk["identity"]["k"], config.null_sets), sentence_runs(sentences))
    missing = {step.name: len(stage.missing(step)) for step in steps}

    mined = None
    if not expected and record.store.local and sentences <= MOST_SENTENCES:
        mined = time_neurons(record.store, args, sentences)
    seconds, work = 0.0, []
    for step in steps:
        left, every = missing[step.name], len(step.items)
        all_s = winners * WINNER_S.get(step.name, 0.0) if mined is None else mined.seconds_for(step.name, own)
        worker_s = all_s * left / every
        seconds += worker_s if step.here else spread_seconds(record, left, stage.workers, worker_s)
        if step.unit:
            work.append(f"{step.name.removeprefix('mine: ')}: {left:,} of {every:,} {step.unit}")
    if mined is None:
        kept = sets * SET_BYTES
        why = "not annotated yet" if expected else f"{sentences:,} sentences or not on this machine"
        basis = f"nothing timed ({why}): measured before, on other text (docs/scale.md, jobs/mine/job.py)"
    else:
        kept = round(mined.bytes_per_neuron * neurons)
        took = sum(mined.seconds.values())
        basis = f"timed {counted(mined.neurons, 'neuron')} through all steps in {took:.1f} s"
    return Plan(
        work, seconds, kept, kept, [basis, by_workers(stage.workers)], tables(config.no_scores, config.null_sets)
    )


@dataclass
class MinedNeurons:
    """The time and space that some neurons took.

    Attributes:
        neurons: the number of neurons.
        seconds: the seconds of each step, by its name, in one process, without the start of a worker.
        growth: the exponent g, from 0 to 1, with which distinct patterns grow: twice the neurons have 2^g times the
            patterns.
        bytes_per_neuron: the bytes of the tables per neuron.
    """

    neurons: int
    seconds: dict[str, float] = field(default_factory=dict)
    growth: float = 1.0
    bytes_per_neuron: float = 0.0

    def seconds_for(self, step: str, neurons: int) -> float:
        """Return one worker's seconds for a step of `neurons` neurons; counting grows with the number of patterns."""
        power = self.growth if step == COUNTED else 1.0
        return float(self.seconds.get(step, 0.0) * (neurons / self.neurons) ** power)


def time_neurons(store: Store, args: MineArgs, sentences: int) -> MinedNeurons:
    """Run all steps for some neurons in a temporary folder, and return the time and space they took.

    Args:
        store: the run's folder, on this machine.
        args: the arguments from which the workers would be made.
        sentences: the number of annotated sentences.
    """
    known = has_copy(args.sentences)
    middle = args.mined // 2
    stop = min(middle + NEURONS, args.mined)
    mined = MinedNeurons(stop - middle)
    for end in (middle + 1, stop):
        with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
            for table in (*STAGES["topk"].tables, *STAGES["annotate"].tables):
                os.symlink(store.path(table), os.path.join(folder, table))
            ranges: list[Item] = [{"range": 0, "first": middle, "stop": end}]
            runs = [{"run": 0, "first": 0, "stop": sentences}]
            scratch = Store(folder)
            for step in mine_steps(replace(args, store=scratch), ranges, runs):
                mined.seconds[step.name] = _time(step)
            mined.bytes_per_neuron = sum(map(scratch.size, STAGES["mine"].tables)) / (end - middle)
            mined.growth = _growth(scratch, ranges[0], args.neurons.named(args.options["units"])[middle:stop])
    if not known:
        drop_sentences(args.sentences)
    return mined


def _time(step: Step) -> float:
    worker = step.worker(**step.args)
    started = time.perf_counter()
    for item in step.items:
        worker(item, None)
    return time.perf_counter() - started


def _growth(store: Store, item: Item, numbers: Int64s) -> float:
    """Return the exponent with which distinct patterns grow from half of a range's neurons `numbers` to all of them."""
    candidates, middle = read_partial(store, range_file(item)), len(numbers) // 2
    neuron, _ = neuron_and_pole(candidates["set"].to_numpy() // len(MINED))
    half, whole = unite([candidates.filter(neuron < numbers[middle])]).num_rows, unite([candidates]).num_rows
    if not half:
        return 1.0
    return min(max(log2(whole / half) / log2(len(numbers) / middle), 0.0), 1.0)
