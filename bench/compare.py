"""Measures the time to find neighbours of 9,216 neurons with 10,000 winners at each pole; prints one line of JSON.

    python -m bench compare

Winners are drawn at random from a corpus of a million sentences. Half of them are drawn from a tenth of the corpus, so
that neurons share more winners than expected by chance. The activation sample has 10,000 sentences. Correlations and
shared winners are computed for some blocks of 256 neurons, and some values are checked against numpy and scipy. The
totals are for all 36 blocks on two cores, computed from processor time with one thread on each. The exit status is 1 if
a value differs or if a total is over five minutes.
"""

import argparse
import json
import resource
import sys
import time

import numpy as np
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ops.compare.activation_vectors import unit_correlations, unit_vectors
from ops.compare.near_neurons import NeighbourFinder
from ops.compare.shared_winners import WinnerLists
from ops.topk.neurons import NEURONS_PER_PART, Neurons

CORES, TARGET_S, CHECKED = 2, 300.0, 3


def main() -> int:
    """Run the benchmark and print its line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--k", type=int, default=10_000)
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=10_000)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    neurons = Neurons((options.width,) * options.layers)
    rng = np.random.default_rng(options.seed)
    started = time.process_time()
    winners = {pole: draw_winners(rng, len(neurons), options.k, options.sentences) for pole in ("bottom", "top")}
    lists_s = time.process_time() - started
    vectors = np.empty((len(neurons), options.sample), np.float32)
    for start in range(0, len(neurons), options.width):
        vectors[start : start + options.width] = unit_vectors(rng.normal(size=(options.sample, options.width)))
    finder = NeighbourFinder(neurons, vectors, winners, 10, np.zeros(len(neurons), np.bool_))
    finder.overlaps(np.arange(1))  # compiles
    seconds = dict.fromkeys(("correlation", "overlap", "rows"), 0.0)
    equal = True
    with threadpool_limits(1):
        for block in range(options.blocks):
            own = block * NEURONS_PER_PART + np.arange(NEURONS_PER_PART)
            for name, work in (
                ("correlation", finder.correlations), ("overlap", finder.overlaps), ("rows", finder.rows),
            ):  # fmt: skip
                started = time.process_time()
                work(own)
                seconds[name] += time.process_time() - started
            equal &= agrees(finder, int(own[0]))
    blocks = -(-len(neurons) // NEURONS_PER_PART)
    total = {name: s / options.blocks * blocks / CORES for name, s in seconds.items()}
    result = {
        "neurons": len(neurons),
        "winners": 2 * options.k * len(neurons),
        "sentences": options.sentences,
        "sample": options.sample,
        **{f"{name}_s_on_two_cores": round(s, 1) for name, s in total.items()},
        "lists_cpu_s": round(lists_s, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        "values_agree": equal,
        "targets_met": max(total["correlation"], total["overlap"]) < TARGET_S,
    }
    print(json.dumps({"bench": "compare", **result}))
    return 0 if result["values_agree"] and result["targets_met"] else 1


def draw_winners(rng: np.random.Generator, neurons: int, k: int, sentences: int) -> WinnerLists:
    """Return distinct winners for each neuron, half of them from a tenth of the corpus."""
    found = np.empty((neurons, k), np.int32)
    tenth = sentences // 10
    for row in found:
        row[: k // 2] = rng.choice(tenth, k // 2, replace=False)
        row[k // 2 :] = tenth + rng.choice(sentences - tenth, k - k // 2, replace=False)
    return WinnerLists.of(np.full(neurons, k), found.ravel())


def agrees(finder: NeighbourFinder, first: int) -> bool:
    """Return whether some neurons' correlations and shared winners equal those that numpy and scipy compute."""
    own = slice(first, first + CHECKED)
    r = np.corrcoef(finder.vectors[own].astype(np.float64), finder.vectors[:64].astype(np.float64))[:CHECKED, CHECKED:]
    shared = 0
    for lists in finder.winners.values():
        shape = (len(lists.starts) - 1, len(lists.distinct))
        matrix = csr_matrix((np.ones(len(lists.sentences), np.int32), lists.sentences, lists.starts), shape)
        shared = shared + (matrix[own] @ matrix[:64].T).toarray()
    checked = first + np.arange(CHECKED)
    found = unit_correlations(finder.vectors[checked], finder.vectors[:64]), finder.overlaps(checked)[:, :64]
    return bool(np.abs(found[0] - r).max() < 1e-5 and (found[1] == shared).all())


if __name__ == "__main__":
    sys.exit(main())
