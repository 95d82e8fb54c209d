"""Some neurons through all steps of `mine`, in a folder that is thrown away: what a neuron takes, and its bytes."""

import os
import tempfile
import time
from dataclasses import dataclass, field, replace
from math import log2

from jobs.stage.layout import range_file
from jobs.stage.runner import Step
from jobs.stage.stages import STAGES
from jobs.steps.mine.steps import mine_steps
from jobs.steps.mine.workers import MINED, MineArgs
from ops.mine.candidates import unite
from ops.sentences.local_copy import drop_sentences, has_copy
from ops.storage.store import Store
from ops.topk.neurons import neuron_and_pole

NEURONS = 32  # that are timed, side by side as in a range; one goes before them for what is compiled at first use
COUNTED = ("mine: baseline",)


@dataclass
class MinedNeurons:
    """What some neurons took.

    Attributes:
        neurons: how many.
        seconds: of each step by its name, in one process, without what a worker takes to start.
        growth: by how much the distinct patterns of twice the neurons are more, as a power of two, 0 to 1.
        bytes_per_neuron: of the tables.
    """

    neurons: int
    seconds: dict[str, float] = field(default_factory=dict)
    growth: float = 1.0
    bytes_per_neuron: float = 0.0

    def seconds_for(self, step: str, neurons: int) -> float:
        """Return what a step of so many neurons takes one worker; counting takes as long as there are patterns."""
        power = self.growth if step in COUNTED else 1.0
        return float(self.seconds[step] * (neurons / self.neurons) ** power)


def time_neurons(store: Store, args: MineArgs, sentences: int) -> MinedNeurons:
    """Take some neurons through all steps.

    Args:
        store: the run's folder, on this machine.
        args: what the workers would be made from.
        sentences: that are annotated.
    """
    known = has_copy(args.sentences)
    middle = len(args.neurons) // 2
    stop = min(middle + NEURONS, len(args.neurons))
    mined = MinedNeurons(stop - middle)
    for end in (middle + 1, stop):
        with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
            for table in (*STAGES["topk"].tables, *STAGES["annotate"].tables):
                os.symlink(store.path(table), os.path.join(folder, table))
            ranges = [{"range": 0, "first": middle, "stop": end}]
            runs = [{"run": 0, "first": 0, "stop": sentences}]
            scratch = Store(folder)
            for step in mine_steps(replace(args, store=scratch), ranges, runs):
                mined.seconds[step.name] = _time(step)
            mined.bytes_per_neuron = sum(map(scratch.size, STAGES["mine"].tables)) / (end - middle)
            mined.growth = _growth(scratch, middle, end)
    if not known:
        drop_sentences(args.sentences)
    return mined


def _time(step: Step) -> float:
    worker = step.worker(**step.args)
    started = time.perf_counter()
    for item in step.items:
        worker(item, None)
    return time.perf_counter() - started


def _growth(store: Store, first: int, stop: int) -> float:
    """Return the power by which distinct patterns grow with the neurons, from half of them to all."""
    with store.parquet(range_file(0).path) as file:
        candidates = file.read()
    middle = (first + stop) // 2
    neuron, _ = neuron_and_pole(candidates["set"].to_numpy() // len(MINED))
    half, whole = unite([candidates.filter(neuron < middle)]).num_rows, unite([candidates]).num_rows
    if not half:
        return 1.0
    return min(max(log2(whole / half) / log2((stop - first) / (middle - first)), 0.0), 1.0)
