"""Measures the cost of reducing a sentence as a share of a bert-base forward pass, and prints one line of JSON.

    python -m bench reducer

The reducers are those of 9,216 neurons with K = 10,000, both poles, moments and histograms, on one thread. Thresholds
are those after a million sentences, about a hundredth of 82 million; later, even fewer values pass. The forward pass is
measured in the same execution, with bert-base's configuration, random weights, and batches of 2,048 tokens with 22
tokens per sentence. Compaction occurs once in some hundred thousand sentences; its share is computed from the time of
one compaction. The exit status is 1 if the target is missed or a count is wrong.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable

import torch

from bench.filled_top_k import filled_top_k
from bench.running import load
from ops.reducers.histogram import Histogram, edges_from_pilot
from ops.reducers.moments import Moments
from ops.reducers.top_k import encode_keys

NEURONS, K, TOKENS, BUDGET = 9_216, 10_000, 22, 2_048
TARGET = 0.03


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench reducer", description=str(__doc__).splitlines()[0])
    parser.add_argument("--seen", type=int, default=1_000_000, help="sentences that the thresholds are made of")
    parser.add_argument("--rounds", type=int, default=5, help="batches of each measurement; the fastest counts")
    parser.add_argument("--k", type=int, default=K)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    torch.set_num_threads(1)
    forward = forward_seconds(options.rounds)
    result = measure(options.seen, options.k, options.rounds, options.seed)
    share = result["all_s"] / forward
    print(
        json.dumps(
            {
                "bench": "reducer",
                "neurons": NEURONS,
                "k": options.k,
                "forward_ms": round(forward * 1e3, 3),
                **{name.removesuffix("_s") + "_ms": round(seconds * 1e3, 4) for name, seconds in result.items()},
                "share": round(share, 4),
                "target": TARGET,
                "target_met": share < TARGET,
                "load": load(),
            }
        )
    )
    return 0 if share < TARGET else 1


def forward_seconds(rounds: int) -> float:
    """Return the seconds of bert-base for one sentence."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig()
    model = BertModel(config, add_pooling_layer=False).eval()
    ids = torch.randint(config.vocab_size, (BUDGET // TOKENS, TOKENS))
    mask = torch.ones_like(ids)
    with torch.inference_mode():
        return fastest(lambda: model(input_ids=ids, attention_mask=mask), min(rounds, 3)) / len(ids)


@torch.inference_mode()
def measure(seen: int, k: int, rounds: int, seed: int) -> dict[str, float]:
    """Return the seconds per sentence, in each reducer alone and in all together, including compaction.

    Raises:
        RuntimeError: the histogram does not count every value, or the reducers keep values that they must reject.
    """
    generator = torch.Generator().manual_seed(seed)
    edges = edges_from_pilot(torch.randn(512, NEURONS, generator=generator))
    counts = Histogram(edges)
    reducers = [filled_top_k(NEURONS, k, seen) for _ in range(2)]
    size = BUDGET // TOKENS
    blocks = [torch.randn(size, NEURONS, generator=generator) for _ in range(rounds + 1)]
    moments = Moments.empty(NEURONS)
    fed = 0

    def top_k() -> None:
        nonlocal fed
        values = blocks[fed % len(blocks)]
        ids = torch.arange(seen + fed * size, seen + (fed + 1) * size)
        reducers[0].update(values, ids)
        reducers[1].update(-values, ids)
        fed += 1

    def measured_moments() -> None:
        nonlocal moments
        moments = moments.update(blocks[fed % len(blocks)])

    def histogram() -> None:
        counts.update(blocks[fed % len(blocks)])

    def together() -> None:
        top_k()
        measured_moments()
        histogram()

    result = {
        f"{name}_s": fastest(work, rounds) / size
        for name, work in (("top_k", top_k), ("moments", measured_moments), ("histogram", histogram), ("all", together))
    }
    if int(counts.result().sum()) != 2 * (rounds + 1) * size * NEURONS:
        raise RuntimeError("the histogram's counts are not those of the values")
    passed = sum(int(r.filled.sum()) - k * NEURONS for r in reducers) / 2 / NEURONS / (fed * size)
    if not 0.5 < passed / (k / seen) < 1.5:
        raise RuntimeError(f"{passed:.4f} of the values passed, expected about {k / seen:.4f}")
    result["compaction_s"] = compaction(k, seen, generator) * 2 * NEURONS * passed / (reducers[0].room - k)
    result["all_s"] += result["compaction_s"]
    return result


def compaction(k: int, seen: int, generator: torch.Generator) -> float:
    """Return the seconds to sort and cut one neuron's full buffer."""
    neurons = 64
    reducer = filled_top_k(neurons, k, seen)
    more = reducer.room - k
    values = reducer.bound[0] + torch.rand(neurons * more, generator=generator)
    keys = encode_keys(values, torch.arange(seen, seen + len(values)))
    reducer.merge_keys(torch.arange(neurons).repeat_interleave(more), keys)
    started = time.perf_counter()
    reducer.result()
    return (time.perf_counter() - started) / neurons


def fastest(work: Callable[[], object], rounds: int) -> float:
    """Return the seconds of the fastest of several executions, after a warm-up."""
    work()
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    sys.exit(main())
