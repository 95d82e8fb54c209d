"""What the main job takes on 82 million sentences with bert-base on some GPUs, from measured and assumed figures."""

from typing import Any, NamedTuple

from ops.topk.neurons import NEURONS_PER_PART
from ops.topk.shared_bounds import is_due

SENTENCES, TOKENS, NEURONS, POLES, K, SHARD = 82_000_000, 22, 9_216, 2, 10_000, 100_000
FLOP_PER_TOKEN = 170e6  # computed: two for each weight of twelve layers (85 million)
PEAK_FLOPS, PEAK_SHARE = 989e12, 0.4  # an H100's data sheet, bfloat16 without sparsity; assumed share
GPU_BYTES_PER_S = 3.35e12 * 0.5  # data sheet, and half of it assumed
BYTES_PER_VALUE = (
    608  # counted by `bench gpu`, in blocks of 256 sentences: what the reducers' operators read and write on a GPU
)
CORES, CORES_PER_GPU = 128, 16  # assumed: cores in all, and the least of them for each GPU
PREFETCH = 4  # shards that a GPU has with it; assumed: no more are tokenized at a time
UNSORTED = 1.25  # computed, at most: candidates of a GPU, which sorts less often, over those of `EMITTED`
# Candidates of a neuron and pole in units of K, by workers, thresholds shared: `python -m bench sharing --workers N`.
EMITTED = {1: 7.5, 8: 14.0, 64: 22.3}


class Measured(NamedTuple):
    """Figures of one core of the machine that measures.

    Attributes:
        reduce_s: seconds of reducing a sentence.
        commit_s: seconds of writing one candidate into a partial file.
        count_s: seconds in which the driver takes in a shard's histogram.
        bounds_s: seconds in which it makes the bounds, which it does for a part of the shards.
        pair_bytes: bytes of a candidate in the partial files, what else is in them included.
        merge_s: seconds of merging one candidate and writing its share of the tables.
        worker_bytes: highest resident memory of a worker, the model aside.
        tokens_per_second: tokens made from text.
    """

    reduce_s: float
    commit_s: float
    count_s: float
    bounds_s: float
    pair_bytes: float
    merge_s: float
    worker_bytes: float
    tokens_per_second: float


def posts() -> int:
    """Return how often the driver makes bounds."""
    posted = times = 0
    for counted in range(1, SENTENCES // SHARD + 1):
        if is_due(counted, posted):
            posted, times = counted, times + 1
    return times


def project(measured: Measured, emitted: dict[int, float] = EMITTED) -> dict[str, Any]:
    """Return seconds of each part, bytes of memory and storage, by number of GPUs.

    Tokenizing goes on beside the forward pass and counts where it is slower; so does the driver's part. Reducing and
    writing come on top of the forward pass.
    """
    table: dict[str, Any] = {}
    for gpus, in_k in emitted.items():
        cores = max(CORES, CORES_PER_GPU * gpus)
        pairs = in_k * K * NEURONS * POLES
        forward = SENTENCES * TOKENS * FLOP_PER_TOKEN / (PEAK_FLOPS * PEAK_SHARE) / gpus
        reduce = SENTENCES * NEURONS * BYTES_PER_VALUE / GPU_BYTES_PER_S / gpus
        commit = UNSORTED * pairs * measured.commit_s / gpus
        tokenize = SENTENCES * TOKENS / measured.tokens_per_second / min(PREFETCH * gpus, cores)
        driver = measured.count_s * SENTENCES / SHARD + measured.bounds_s * posts() if gpus > 1 else 0.0
        merge = pairs * measured.merge_s / min(cores, -(-NEURONS // NEURONS_PER_PART))  # a core for each range
        scoring = max(forward + reduce + commit, tokenize, driver)
        table[str(gpus)] = {
            "forward_s": round(forward),
            "reduce_s": round(reduce),
            "commit_s": round(commit),
            "tokenize_s": round(tokenize),
            "driver_s": round(driver),
            "merge_s": round(merge),
            "all_s": round(scoring + merge),
            "reduce_core_hours_without_gpu": round(SENTENCES * measured.reduce_s / 3600, 1),
            "device_state_gb": round(POLES * NEURONS * K * 1.5 * 8 / 1e9, 1),
            "worker_gb": round(measured.worker_bytes / 1e9, 1),
            "partials_gb": round(pairs * measured.pair_bytes / 1e9, 1),
            "emitted_in_k": in_k,
        }
    return table
