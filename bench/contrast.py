"""Measure the parts of a contrast, and check that permuted labels are significant as often as chance says.

    python -m bench contrast --out runs/six --by sentiment --permutations 200

Takes the first contrast of a metadata key over the activation sample of a finished `topk`. `seconds` has the processor
time of each part over all layers, on one core. With --permutations the labels are permuted so many times: `share` is
the mean share of units with p < 0.05, which should be 0.04 to 0.06, and `found` the number of permutations in which any
unit has q < 0.05, which should be at most 9 %.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bench.harness import Result
from bench.resources import timed
from jobs.contrast.job import ContrastConfig
from jobs.contrast.steps import contrasts_of, read_sentences
from jobs.run_folder.run import Run
from ops.arrays import Float32s
from ops.compare.activation_vectors import layer_activations
from ops.contrast.groups import Contrast
from ops.contrast.permutations import Permutations, with_permuted_labels
from ops.contrast.probes import layer_probe, rotated_probes, unit_probes, word_probe
from ops.contrast.units import separation
from ops.explain.rotation import rotated
from ops.statistics.false_discovery import q_values
from ops.topk.neurons import read_neurons
from ops.topk.silent import read_silent


def time_parts(one: Contrast, layers: dict[int, Float32s], texts: list[str]) -> dict[str, float]:
    """Return the seconds of processor time of each part of a contrast over all layers."""
    parts: dict[str, Callable[[int, Float32s], Any]] = {
        "units": lambda _, values: separation(one, values),
        "units and permutations": lambda _, values: separation(one, values, Permutations.of(one, 0)),
        "rotated control": lambda layer, values: separation(one, rotated(values, layer, 0, 0, values.shape[1])),
        "probes of units": lambda _, values: unit_probes(one, values),
        "probes of rotations": lambda layer, values: rotated_probes(one, values, 0, layer),
        "probes of layers": lambda _, values: layer_probe(one, values),
    }
    seconds = {
        part: sum(timed(do, layer, values)[0].processor for layer, values in layers.items())
        for part, do in parts.items()
    }
    seconds["probe of words"] = timed(word_probe, one, texts)[0].processor
    return {part: round(own, 2) for part, own in seconds.items()}


def calibrate(one: Contrast, layers: dict[int, Float32s], permutations: int) -> dict[str, Any]:
    """Return how often units of permuted labels are significant."""
    shares, found = [], 0
    for seed in range(permutations):
        own = with_permuted_labels(one, seed)
        p = np.concatenate([separation(own, values).p for values in layers.values()])
        shares.append(float((p < 0.05).mean()))
        found += bool((q_values(p) < 0.05).any())
    return {"permutations": permutations, "share": round(float(np.mean(shares)), 4), "found": found}


def measure(out: str, by: str, permutations: int = 0) -> Result:
    """Time a contrast.

    Args:
        out: a run that jobs.topk has finished.
        by: a metadata key, or dataset.
        permutations: permute the labels this many times.
    """
    run = Run(out, create=False)
    config = ContrastConfig.model_validate({"out": out, "by": (by,)})
    sentences = read_sentences(config, run)
    one = contrasts_of(config, [sentences])[0][0]
    texts = [sentences["text"][row].as_py() for row in one.rows.tolist()]
    neurons = read_neurons(run.store)
    heard = ~read_silent(run.store, neurons)
    values = {
        layer: layer_activations(run.store, layer)[one.rows][:, heard[slice(*neurons.span(layer))]]
        for layer in neurons.layers
    }
    with threadpool_limits(1):
        found: dict[str, Any] = {"group": one.group, "sentences": len(one.rows), "units": int(heard.sum())}
        found["seconds"] = time_parts(one, values, texts)
        if permutations:
            found |= calibrate(one, values, permutations)
    return found
