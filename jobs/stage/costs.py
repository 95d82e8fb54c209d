"""What work costs, for `--dry-run`: seconds of one core, as measured, and how steps are spread over workers.

All figures are from two cores of an Intel Xeon, with the packaged model, November 2026; `python -m bench` measures them
again with the benchmark named beside each.
"""

import math

# The seconds of a step per unit of its `amount`.
SECONDS: dict[str, float] = {
    "compare: bases": 3e-7,  # a basis and value of the activation sample
    "compare: clusters": 5e-5,  # a point and cluster
    "compare: groups": 0.002,  # a point and number of groups
    "compare: matches": 9.5e-11,  # a pair of units and sentence
    "compare: nearest": 4.2e-11,  # a product of two neurons' activations in a sentence (bench compare)
    "compare: neighbours": 4.2e-11,  # the same (bench compare)
    "compare: scores": 1.2e-6,  # a resample, neuron and table
    "compare: shared winners": 1e-7,  # a winner
    "mine: patterns": 119e-6,  # a winner (bench mine)
    "topk: merge": 0.24e-6,  # a candidate, its share of the tables included (docs/scale.md)
    "mine: tables": 71e-6,  # a winner, held-out scores included (bench mine)
    "audit: neurons": 8e-3,  # a neuron, pole and data set (bench audit)
    # A direction and a token of a model of width 768: 50 GFLOP/s, and 22 ns besides (no benchmark).
    "outputs: random directions": 53e-9,
    "outputs: units": 53e-9,
}
# What a sentence costs a stage, as a multiple of the forward pass that `--dry-run` times.
PASSES: dict[str, float] = {
    "compare/ablation": 1.0,  # for each neuron
    "compare/diversity": 1.0,
    "compare/shift": 2.0,  # two models
    "topk": 1.1,  # bench end_to_end
    "tokens": 1.1,  # bench tokens
    "mixing": 1.3,  # bench mixing
    "psi/contextual": 1.06,  # bench psi
}
# The time from a job's start to its first item, and the start of more actors or tasks (docs/scale.md).
FIRST_START_S, ACTORS_START_S, TASKS_START_S = 10.6, 3.5, 0.2


def seconds_together(items: int, workers: int | None, worker_s: float, start: float) -> float:
    """Return the seconds of a step whose items, assumed to be of equal length, would take one worker `worker_s`.

    >>> seconds_together(3, 2, 30.0, 1.0)
    21.0
    """
    rounds = math.ceil(items / min(workers or 1, items))
    return start + worker_s * rounds / items
