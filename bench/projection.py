"""Projects the time of `jobs.run` on 82 million sentences with bert-base: the tables of docs/scale.md.

    python -m bench projection

The benchmark prints the tables as docs/scale.md shows them; a test compares the two. Each row states its basis:
measured on two cores (M), counted (N), computed from these and from data sheets (C), or assumed without any measurement
(A).
"""

import argparse
import json
import sys
from typing import Any, NamedTuple

from ops.topk.neurons import NEURONS_PER_PART
from ops.topk.room import slots_of
from ops.topk.shared_bounds import is_due

SENTENCES, TOKENS, NEURONS, POLES, K, SHARD = 82_000_000, 22, 9_216, 2, 10_000, 100_000
SHARDS = SENTENCES // SHARD
FLOP_PER_TOKEN = 170e6  # computed: two for each weight of twelve layers (85 million)
SHARE = {"float32": 0.7, "tf32": 0.4, "bfloat16": 0.4}  # share of the data sheet's peak that is reached; assumed
BANDWIDTH_SHARE = 0.5  # share of the data sheet's bandwidth that is reached; assumed
FREE_SHARE = 0.9  # share of a GPU's memory that is free after the model is loaded; assumed
BYTES_PER_VALUE = 608  # bytes that the reducers read and write per activation, counted by `bench gpu` in blocks of 256
CORES = 128  # assumed
READERS = 120  # number of cores that read, in addition to the scorers' own threads; assumed
UNSORTED = 1.25  # most candidates of a GPU, which sorts less often, relative to `EMITTED`; computed
# Candidates of a neuron and pole in units of K, by number of workers with shared thresholds, measured by
# `python -m bench sharing --workers N`.
EMITTED = {1: 7.5, 8: 14.0, 64: 22.3}
REQUEST_S = 0.05  # seconds of one request to object storage; assumed
REQUESTS, FILES_AT_ONCE = 4, 16  # requests for a column of a shard's file, and files read at the same time; counted

# The following numbers were measured on one core; docs/scale.md explains them.
INGEST_PER_S = 6_150  # sentences per second
SOURCE_BYTES, HASHED_PER_S, COUNTED_PER_S = 10.7e9, 1.7e9, 2.7e9
WORDS_PER_S = 24_600  # words that are annotated per second
VOCABULARY_S, COPY_S = 1.3e-6, 1.7e-6  # seconds per sentence
MINE_S, BASELINE_S, NEURONS_PER_RANGE = 8.1 * 3600, 0.1 * 3600, 16
TOKENS_S, STARTS_S = 10.0, 60.0  # computed
FIRST_START_S, START_S = 10.6, 3.5  # seconds to start the workers of a job's first step, and another pool of actors
ANNOTATED, WORDS = (27e6, 49e6), 20  # sentences, and words of each; assumed. By chance, 73 million would be winners
MIXING_HOST_S = 5.2e-6  # seconds per token for moments by class and length, while the GPU runs
SIDE = {"psi": (1.04, 1.07), "mixing": (1.24, 1.26), "positions, for each variant": (1.07, 1.08)}  # in forward passes


class Gpu(NamedTuple):
    """A GPU according to NVIDIA's data sheet.

    Attributes:
        name: the name.
        peak: floating-point operations per second for each arithmetic, without sparsity.
        bytes_per_s: bandwidth of the memory in bytes per second.
        memory_gb: size of the memory in gigabytes.
    """

    name: str
    peak: dict[str, float]
    bytes_per_s: float
    memory_gb: int


class Setup(NamedTuple):
    """A number of GPUs of one kind."""

    gpu: Gpu
    gpus: int

    @property
    def name(self) -> str:
        """The name as the head of a table's column."""
        return f"{self.gpus} {self.gpu.name}"


H100 = Gpu("H100", {"float32": 67e12, "tf32": 495e12, "bfloat16": 989e12}, 3.35e12, 80)
L4 = Gpu("L4", {"float32": 30.3e12, "tf32": 60e12, "bfloat16": 121e12}, 0.3e12, 24)
SETUPS = (Setup(H100, 1), Setup(H100, 8), Setup(L4, 8))


class Measured(NamedTuple):
    """Measurements of one core of the measuring machine.

    Attributes:
        reduce_s: seconds to reduce a sentence.
        commit_s: seconds to write one candidate into a partial file.
        count_s: seconds in which the driver adds a shard's histogram.
        bounds_s: seconds in which the driver computes the bounds, which it does only after some of the shards.
        pair_bytes: bytes of the partial files divided by the number of candidates.
        merge_s: seconds to merge one candidate and to write its share of the tables.
        worker_bytes: highest resident memory of a worker, without the model.
        tokens_per_second: number of stored tokens that are read and cut into batches per second.
    """

    reduce_s: float
    commit_s: float
    count_s: float
    bounds_s: float
    pair_bytes: float
    merge_s: float
    worker_bytes: float
    tokens_per_second: float


# The measurements on the machine of docs/scale.md, November 2026.
PAGE = Measured(0.31e-3, 45e-9, 7e-3, 26e-3, 4.9, 0.24e-6, 8.0e9, 16_000_000)
Seconds = float | tuple[float, float]


def posts() -> int:
    """Return how often the driver computes bounds."""
    posted = times = 0
    for counted in range(1, SHARDS + 1):
        if is_due(counted, posted):
            posted, times = counted, times + 1
    return times


def forward_s(setup: Setup, dtype: str) -> float:
    """Return the seconds of the forward pass over the complete corpus."""
    return SENTENCES * TOKENS * FLOP_PER_TOKEN / (setup.gpu.peak[dtype] * SHARE[dtype]) / setup.gpus


def reduce_s(setup: Setup) -> float:
    """Return the seconds of reducing on the GPUs."""
    return SENTENCES * NEURONS * BYTES_PER_VALUE / (setup.gpu.bytes_per_s * BANDWIDTH_SHARE) / setup.gpus


def pairs(gpus: int) -> float:
    """Return the number of candidates of all shards with this number of workers."""
    return EMITTED[gpus] * K * NEURONS * POLES


def commit_s(setup: Setup, found: Measured) -> float:
    """Return the seconds to write candidates, for which the GPUs wait."""
    return UNSORTED * pairs(setup.gpus) * found.commit_s / setup.gpus


def read_s(found: Measured) -> float:
    """Return the seconds of reading tokens on all readers."""
    return SENTENCES * TOKENS / found.tokens_per_second / READERS


def bounds_s(setup: Setup, found: Measured) -> float:
    """Return the driver's seconds to compute the thresholds that workers share."""
    return found.count_s * SHARDS + found.bounds_s * posts() if setup.gpus > 1 else 0.0


def merge_s(setup: Setup, found: Measured) -> float:
    """Return the seconds of the merge, with one core for each range of neurons."""
    return pairs(setup.gpus) * found.merge_s / min(CORES, -(-NEURONS // NEURONS_PER_PART))


def sample_s() -> float:
    """Return the seconds of waiting for storage while the activation sample is read."""
    return SHARDS * REQUESTS * REQUEST_S / FILES_AT_ONCE


def mine_s() -> float:
    """Return the seconds of mining, in rounds in which every core processes one range of neurons."""
    ranges = -(-NEURONS // NEURONS_PER_RANGE)
    return -(-ranges // CORES) * MINE_S / ranges + BASELINE_S / CORES


def topk_s(setup: Setup, dtype: str, found: Measured) -> float:
    """Return the seconds of topk, without its pilot and start.

    Reading and the driver's part run during the forward pass and count only if they are slower. Reducing and writing
    are added to the forward pass.
    """
    scoring = forward_s(setup, dtype) + reduce_s(setup) + commit_s(setup, found)
    return max(scoring, read_s(found), bounds_s(setup, found)) + merge_s(setup, found) + sample_s()


def parts(found: Measured, setup: Setup) -> dict[str, Seconds]:
    """Return the seconds of each part of the job, in order."""
    few, many = ANNOTATED
    forward: dict[str, Seconds] = {f"topk: forward, {dtype}": forward_s(setup, dtype) for dtype in SHARE}
    return {
        "ingest: read, deduplicate, number": SENTENCES / INGEST_PER_S / CORES,
        "ingest: hash and count lines, on the driver": SOURCE_BYTES / HASHED_PER_S + SOURCE_BYTES / COUNTED_PER_S,
        "topk: read tokens, while the GPUs work": read_s(found),
        **forward,
        "topk: reduce on the GPU": reduce_s(setup),
        "topk: write candidates": commit_s(setup, found),
        "topk: thresholds on the driver, while the GPUs work": bounds_s(setup, found),
        "topk: merge": merge_s(setup, found),
        "topk: read the activation sample": sample_s(),
        "annotate: tags and trees": (few * WORDS / WORDS_PER_S / CORES, many * WORDS / WORDS_PER_S / CORES),
        "annotate: vocabulary, on the driver": (few * VOCABULARY_S, many * VOCABULARY_S),
        "mine: copy the codes, one process per machine": (few * COPY_S, many * COPY_S),
        "mine: count, find patterns, score": mine_s(),
        "tokens: 20 winners per neuron and pole": TOKENS_S,
        "start-up of workers and models, pilot": STARTS_S,
    }


def basis(found: Measured) -> list[str]:
    """Return the basis of the seconds of each part, in the same order."""
    few, many = (f"{sentences / 1e6:.0f}" for sentences in ANNOTATED)
    flop = SENTENCES * TOKENS * FLOP_PER_TOKEN
    parts_of_neurons, ranges = -(-NEURONS // NEURONS_PER_PART), -(-NEURONS // NEURONS_PER_RANGE)
    forward = [
        f"C {flop:.3g} FLOP; A {SHARE[dtype]:.0%} of {H100.peak[dtype] / 1e12:g} and {L4.peak[dtype] / 1e12:g} TFLOP/s"
        for dtype in SHARE
    ]
    return [
        f"M {INGEST_PER_S:,} sentences/s per core; A {CORES} cores, and storage keeps up",
        f"M one core hashes {HASHED_PER_S / 1e9:g} GB/s and counts {COUNTED_PER_S / 1e9:g} GB/s; C "
        f"{SOURCE_BYTES / 1e9:g} GB; A storage keeps up",
        f"M {found.tokens_per_second:,.0f} stored tokens/s per core; A {READERS} cores",
        *forward,
        f"N {BYTES_PER_VALUE} bytes moved per value (`bench gpu`); A half of "
        f"{H100.bytes_per_s / 1e12:g} and {L4.bytes_per_s / 1e12:g} TB/s",
        f"M {1e9 * found.commit_s:.0f} ns per candidate and core; C up to a quarter more candidates than on a CPU",
        f"M {1e3 * found.count_s:.1f} ms per shard ({SHARDS}), {1e3 * found.bounds_s:.0f} ms per update of the "
        f"thresholds ({posts()})",
        f"M {1e6 * found.merge_s:.2f} µs per candidate; C {parts_of_neurons} ranges of {NEURONS_PER_PART} neurons, "
        "one core each",
        f"N {REQUESTS} requests for each of {SHARDS} files, {FILES_AT_ONCE} files in parallel; A "
        f"{1e3 * REQUEST_S:.0f} ms per request",
        f"M {WORDS_PER_S:,} words/s per core; A {few}-{many} million distinct winners of {WORDS} words, {CORES} cores",
        f"M {1e6 * VOCABULARY_S:.1f} µs per sentence at 16 million; A {few}-{many} million",
        f"M {1e6 * COPY_S:.1f} µs per sentence at 16 million; A {few}-{many} million; all other cores wait",
        f"M {MINE_S / 3600:g} core-hours at K = 10,000 and {BASELINE_S / 3600:g} for the baseline; C {ranges} ranges "
        f"of {NEURONS_PER_RANGE} neurons in {-(-ranges // CORES)} rounds; A {CORES} cores",
        "C at most 370,000 sentences, and the start of the workers",
        f"M {FIRST_START_S} s for the first pool of workers, {START_S} s for each further one; A 10 s to load a model",
    ]


def totals(found: Measured, setup: Setup, dtype: str) -> dict[str, Seconds]:
    """Return the seconds of `topk` alone, and of `all` stages from the sources to the last table."""
    topk = topk_s(setup, dtype, found)
    others = [s for part, s in parts(found, setup).items() if not part.startswith("topk")]
    low, high = (sum(s[end] if isinstance(s, tuple) else s for s in others) for end in (0, 1))
    return {"topk": topk, "all": (topk + low, topk + high)}


def project(found: Measured) -> dict[str, Any]:
    """Return the seconds of topk's parts for each setup of GPUs, and memory and storage by number of GPUs."""
    found_of: dict[str, Any] = {}
    for setup in SETUPS:
        found_of[setup.name] = {
            "forward_s": {dtype: round(forward_s(setup, dtype)) for dtype in SHARE},
            "reduce_s": round(reduce_s(setup)),
            "commit_s": round(commit_s(setup, found)),
            "read_s": round(read_s(found)),
            "driver_s": round(bounds_s(setup, found)),
            "merge_s": round(merge_s(setup, found)),
            "slots": slots_of(int(setup.gpu.memory_gb * 1e9 * FREE_SHARE), NEURONS, K, POLES),
            "topk_s": {dtype: round(topk_s(setup, dtype, found)) for dtype in SHARE},
        }
    found_of["files"] = {
        str(gpus): {"partials_gb": round(pairs(gpus) * found.pair_bytes / 1e9, 1), "emitted_in_k": in_k}
        for gpus, in_k in EMITTED.items()
    }
    found_of["reduce_core_hours_without_gpu"] = round(SENTENCES * found.reduce_s / 3600, 1)
    found_of["device_state_gb"] = round(POLES * NEURONS * K * 1.5 * 8 / 1e9, 1)
    found_of["worker_gb"] = round(found.worker_bytes / 1e9, 1)
    return found_of


def shown(seconds: Seconds) -> str:
    """Return seconds as a table shows them.

    >>> shown(817.6), shown(0.0), shown((171.5, 311.2)), shown((100.0, 100.2))
    ('818', '0', '172-311', '100')
    """
    low, high = seconds if isinstance(seconds, tuple) else (seconds, seconds)
    return f"{low:,.0f}" if round(low) == round(high) else f"{low:,.0f}-{high:,.0f}"


def markdown(found: Measured) -> list[str]:
    """Return the tables: the parts of the job, its totals, and the passes of side jobs."""
    names = [setup.name for setup in SETUPS]
    every = [parts(found, setup) for setup in SETUPS]
    reasons = zip(every[0], basis(found), strict=True)
    stages = [[part, *(shown(own[part]) for own in every), why] for part, why in reasons]
    sums = [
        [f"{dtype}, {what}", *(shown(totals(found, setup, dtype)[name]) for setup in SETUPS)]
        for name, what in (("topk", "`topk` alone"), ("all", "all stages"))
        for dtype in SHARE
    ]
    forward = [forward_s(setup, "float32") for setup in SETUPS]
    side = [
        [job, *(shown((low * seconds, high * seconds)) for seconds in forward), f"M {low}-{high} times, on CPUs"]
        for job, (low, high) in SIDE.items()
    ]
    host = [shown(SENTENCES * TOKENS * MIXING_HOST_S / setup.gpus) for setup in SETUPS]
    why = f"M {1e6 * MIXING_HOST_S:.1f} µs per token, one core per GPU"
    side.append(["mixing: moments on the CPU, while the GPUs work", *host, why])
    return [
        table(["stage", *names, "basis"], stages),
        table(["seconds", *names], sums),
        table(["pass", *names, "relative to the float32 forward pass"], side),
    ]


def table(head: list[str], lines: list[list[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *lines])


def main() -> int:
    """Print the tables of docs/scale.md."""
    parser = argparse.ArgumentParser(prog="bench projection", description=str(__doc__).splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one line of JSON with topk's parts instead")
    if parser.parse_args().json:
        print(json.dumps(project(PAGE)))
    else:
        print("\n\n".join(markdown(PAGE)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
