"""Compares the scorer on a GPU with the forward pass alone and with the device's matrix products.

    python -m bench gpu

The model has bert-base's configuration with random weights, 9,216 neurons, K = 10,000 and both poles, in float32, tf32,
bfloat16 and float16, without Ray. Sentences are random tokens with lengths like those of a corpus (about 22). They are
tokenized in advance, which other cores do in the job. Thresholds are those of all sentences used here, like those that
a worker receives when it joins a running job.

The following is measured for each arithmetic. The scorer is compared with the forward pass alone on the same batches.
The benchmark counts how often the host waited for the device within a shard's batches and at the shard's
end, and reports the highest memory. It also reports the seconds to unpickle a shard's tokens.

The exit status is 1 if a count is wrong or a batch waited, and 2 if there is no CUDA. `--tiny` tries the program, also
without a GPU.
"""

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from transformers import BertConfig

from bench.harness import Result, temporary_folder
from bench.resources import Traffic, timed
from bench.texts import Batches
from ops.errors import InputError
from ops.model.activations import ScoreOptions, Scorer
from ops.model.attention import batch_without_padding
from ops.model.batches import TokenBlock, length_batches, pad
from ops.model.load import read_facts
from ops.model.numerics import gpu_kind, torch_dtype
from ops.model.random_weights import save_random
from ops.model.tokenizer import Tokens
from ops.reducers.histogram import edges_from_pilot
from ops.reducers.thresholds import SharedBound
from ops.shards import Ids
from ops.topk.neurons import POLES
from ops.topk.score_shard import ShardScorer, score_batch
from ops.topk.shard_sums import SENTENCES_PER_BLOCK, QueuedSums

T = TypeVar("T")
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
DTYPES = ("float32", "tf32", "bfloat16", "float16") if CUDA else ("float32", "bfloat16")
NOBODY = np.array([], np.int64)
TINY: dict[str, Any] = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}


def measure(
    tiny: bool = False, sentences: int = 100_000, budget: int = 32_768, k: int = 10_000, seed: int = 0
) -> Result:
    """Measure each arithmetic.

    Args:
        tiny: a model of two layers and few sentences, to try the program.
        sentences: number of sentences.
        budget: tokens of a batch, padding included.
        k: winners of a neuron and pole.
        seed: the seed of the sentences.
    """
    if not (CUDA or tiny):
        raise InputError("there is no CUDA device here; --tiny tries the program")
    if tiny:
        sentences, k, budget = min(sentences, 400), min(k, 50), 1_024
    tokens = random_sentences(sentences, seed)
    batches = cut(tokens, budget)
    packed = pickle.dumps(batches)
    result: dict[str, Any] = {
        "device": gpu_kind() if CUDA else "cpu",
        "sentences": sentences,
        "k": k,
        "budget": budget,
        "mean_tokens": round(np.mean([len(t.ids) for t in tokens]), 1),
        "batches": len(batches),
        "of_one_length": round(sum(len(ids) for ids, block in batches if block.of_one_length) / sentences, 4),
        "padding_share": round(1 - real(batches) / places(batches), 4),
        "unpickling_s": round(seconds(lambda: pickle.loads(packed))[0], 4),
        "counts_right": True,
    }
    with temporary_folder() as folder:
        save_random(folder, BertConfig(**(TINY if tiny else {})))
        for dtype in DTYPES:
            result[dtype], right = measure_arithmetic(str(folder), dtype, k, batches)
            result["counts_right"] &= right
    return result


def cut(sentences: list[Tokens], budget: int) -> Batches:
    """Return the batches of a shard."""
    own = length_batches(np.array([len(t.ids) for t in sentences]), budget)
    return [(rows, TokenBlock.of([sentences[row] for row in rows])) for rows in own]


def real(batches: Batches) -> int:
    """Return the number of tokens of all batches."""
    return sum(int(block.offsets[-1]) for _, block in batches)


def places(batches: Batches) -> int:
    """Return the number of tokens of all batches, including padding."""
    return sum(len(block) * int(block.lengths.max()) for _, block in batches)


def random_sentences(count: int, seed: int) -> list[Tokens]:
    """Return sentences of random tokens, whose lengths follow a log-normal distribution around 22 tokens."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(np.log(19.5), 0.5, count).astype(int), 3, 512)
    return [Tokens(rng.integers(1_000, 30_000, n).tolist(), [0] * n, False) for n in lengths]


def measure_arithmetic(folder: str, dtype: str, k: int, batches: Batches) -> tuple[dict[str, object], bool]:
    """Return the measurements for one arithmetic, and whether every sentence was scored and no batch waited."""
    facts = read_facts(folder)
    scorer = Scorer(facts, ScoreOptions(device=DEVICE, dtype=dtype, queued=True))
    pilot = torch.cat([score_batch(scorer, tokens)[0] for _, tokens in batches[:: max(len(batches) // 8, 1)]])
    edges = edges_from_pilot(pilot.cpu())
    sentences = sum(len(ids) for ids, _ in batches)
    shared = SharedBound(edges.numpy(), k)
    rows, first = new_scorer(scorer, k, edges, sentences).run((0, sentences), iter(batches), NOBODY)
    shared.update(0, first.histogram)
    scored_first = first.scored
    del rows, first
    shard = new_scorer(scorer, k, edges, sentences)
    shard.raise_bounds(*shared.result())
    if CUDA:
        torch.cuda.reset_peak_memory_stats()
    within, after = count_waits(shard, sentences, batches) if CUDA else (None, None)
    whole, found = seconds(lambda: shard.run((0, sentences), iter(batches), NOBODY)[1])
    memory = torch.cuda.max_memory_allocated() / 1e9 if CUDA else None
    model = scorer.reader.model
    alone = seconds(forward(scorer, batches))[0]
    peak = matrix_products(dtype)
    weights = sum(p.numel() for n, p in model.named_parameters() if "embeddings" not in n and "pooler" not in n)
    used = 2 * weights * places(batches) / whole
    figures: dict[str, object] = {
        "scorer_sentences_per_second": round(sentences / whole, 1),
        "forward_sentences_per_second": round(sentences / alone, 1),
        "over_forward": round(alone / whole, 3),
        "matrix_product_tflops": round(peak / 1e12, 2),
        "scorer_tflops": round(used / 1e12, 3),
        "over_matrix_products": round(used / peak, 3),
        "reducer_bytes_per_value": round(reducer_bytes(shard, pilot.shape[1]), 1),
        "waits_in_batches": within,
        "waits_at_the_end": after,
        "peak_memory_gb": None if memory is None else round(memory, 2),
    }
    return figures, found.scored == sentences == scored_first and not within


def reducer_bytes(shard: ShardScorer, neurons: int) -> float:
    """Return the bytes that the reducers' operators read and write for each activation of a batch."""
    sums = QueuedSums(shard.winners, shard.edges, np.zeros(0, np.int64), (1,))
    values = torch.randn(SENTENCES_PER_BLOCK, neurons, device=shard.edges.device)
    with Traffic() as traffic:
        sums.add(np.arange(len(values)), [values])
    return float(traffic.total / values.numel())


def new_scorer(scorer: Scorer, k: int, edges: torch.Tensor, sentences: int) -> ShardScorer:
    """Return a scorer with slots for K winners and a complete shard, so that it never sorts between batches.

    Without an explicit number of slots, a GPU with little free memory would get fewer slots and would have to sort
    between batches, which makes the host wait.
    """
    if CUDA:
        torch.cuda.empty_cache()
    return ShardScorer(scorer, k, POLES, edges, queued=True, room=k + sentences)


def forward(scorer: Scorer, batches: Batches) -> Callable[[], None]:
    """Return a function that runs only the forward pass over these batches, which are already on the device."""
    model = scorer.reader.model
    inputs = [(*pad(tokens, 0, scorer.device)[:2], tokens.of_one_length) for _, tokens in batches]

    @torch.inference_mode()
    def run() -> None:
        for ids, present, whole in inputs:
            with batch_without_padding(whole):
                model(input_ids=ids, attention_mask=present.long())

    return run


def count_waits(shard: ShardScorer, sentences: int, batches: Batches) -> tuple[int, int]:
    """Return how often the host waits for the GPU while batches are scored, and after the last one, as torch warns."""
    within = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")

        def count() -> int:
            return waits_among(str(warning.message) for warning in caught)

        def counted() -> Iterator[tuple[Ids, Sequence[Tokens]]]:
            nonlocal within
            yield from batches
            within = count()

        shard.run((0, sentences), counted(), NOBODY)
        torch.cuda.set_sync_debug_mode("default")
        return within, count() - within


def waits_among(warned: Iterable[str]) -> int:
    """Return how many of torch's warnings are about an operation that waited.

    `set_sync_debug_mode` itself also warns that it is a prototype and does not detect every synchronizing operation.
    """
    return sum("called a synchronizing" in message for message in warned)


def matrix_products(dtype: str) -> float:
    """Return the operations per second of a large matrix product."""
    size, rounds = 8_192 if CUDA else 512, 20
    a, b = (torch.randn(size, size, device=DEVICE, dtype=torch_dtype(dtype)) for _ in range(2))
    torch.mm(a, b)
    took, _ = seconds(lambda: [torch.mm(a, b) for _ in range(rounds)])
    return 2 * size**3 * rounds / took


def seconds(work: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds of some work, including the device's queue, and its result."""

    def whole() -> T:
        result = work()
        if CUDA:
            torch.cuda.synchronize()
        return result

    if CUDA:
        torch.cuda.synchronize()
    took, result = timed(whole)
    return took.clock, result
