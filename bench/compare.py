"""Measures the time to find neighbours of 9,216 neurons with 10,000 winners at each pole.

    python -m bench compare

Winners are drawn at random from a corpus of a million sentences. Half of them are drawn from a tenth of the corpus, so
that neurons share more winners than expected by chance. The activation sample has 10,000 sentences. Correlations and
shared winners are computed for some blocks of 256 neurons, and some values are checked against numpy and scipy. The
totals are for all 36 blocks on two cores, computed from processor time with one thread on each. The exit status is 1 if
a value differs or if a total is over five minutes.
"""

import numpy as np
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bench.harness import Result
from bench.memory import resident
from bench.timing import timed
from ops.compare.activation_vectors import unit_correlations, unit_vectors
from ops.compare.near_neurons import NeighbourFinder
from ops.compare.shared_winners import WinnerLists
from ops.topk.neurons import NEURONS_PER_PART, Neurons

CORES, TARGET_S, CHECKED = 2, 300.0, 3


def measure(
    layers: int = 12, width: int = 768, k: int = 10_000, sentences: int = 1_000_000, sample: int = 10_000,
    blocks: int = 2, seed: int = 0,
) -> Result:  # fmt: skip
    """Time some blocks of neurons.

    Args:
        layers: number of layers.
        width: neurons of a layer.
        k: winners of a neuron and pole.
        sentences: sentences of the corpus.
        sample: sentences with activations.
        blocks: number of blocks of 256 neurons that are timed.
        seed: the seed of winners and activations.
    """
    neurons = Neurons((width,) * layers)
    rng = np.random.default_rng(seed)
    lists, winners = timed(lambda: {p: draw_winners(rng, len(neurons), k, sentences) for p in ("bottom", "top")})
    vectors = np.empty((len(neurons), sample), np.float32)
    for start in range(0, len(neurons), width):
        vectors[start : start + width] = unit_vectors(rng.normal(size=(sample, width)))
    finder = NeighbourFinder(neurons, vectors, winners, 10, np.zeros(len(neurons), np.bool_))
    finder.overlaps(np.arange(1))  # compiles
    ways = {
        "correlation": lambda own: unit_correlations(finder.vectors[own], finder.vectors),
        "overlap": finder.overlaps,
        "rows": finder.rows,
    }
    total, equal = dict.fromkeys(ways, 0.0), True
    all_of_timed = -(-len(neurons) // NEURONS_PER_PART) / blocks
    with threadpool_limits(1):
        for block in range(blocks):
            own = block * NEURONS_PER_PART + np.arange(NEURONS_PER_PART)
            for name, work in ways.items():
                total[name] += timed(work, own)[0].processor * all_of_timed / CORES
            equal &= agrees(finder, int(own[0]))
    met = max(total["correlation"], total["overlap"]) < TARGET_S
    return {
        "neurons": len(neurons),
        "winners": 2 * k * len(neurons),
        "sentences": sentences,
        "sample": sample,
        **{f"{name}_s_on_two_cores": round(s, 1) for name, s in total.items()},
        "lists_cpu_s": round(lists.processor, 1),
        "peak_gb": round(resident()["VmHWM"] / 1e9, 2),
        "values_agree": equal,
        "targets_met": met,
    }, equal and met


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
