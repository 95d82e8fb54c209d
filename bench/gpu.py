"""Compares the scorer on a GPU with the forward pass alone and with the device's matrix products.

    python -m bench gpu

The model has bert-base's configuration with random weights, 9,216 neurons, K = 10,000 and both poles, in float32, tf32,
bfloat16 and float16, without Ray. Sentences are random tokens with lengths like those of a corpus (about 22). They are
tokenized in advance, which other cores do in the job. Thresholds are those of all sentences used here, like those that
a worker receives when it joins a running job.

The following is measured for each arithmetic. The scorer is compared with the forward pass alone on the same batches,
which have a single length if that length is common. It is also compared with the forward pass on batches that are cut
as for a CPU, with a padding mask. The benchmark counts how often the host waited for the device within a shard's
batches and at the shard's end, and reports the highest memory. It also reports the seconds to unpickle a shard's
tokens.

The exit status is 1 if a count is wrong or a batch waited, and 2 if there is no CUDA. `--device cpu --tiny` runs the
program without a GPU.
"""

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from transformers import BertConfig

from bench.harness import Result, temporary_folder
from bench.passes import Batches
from bench.timing import timed
from bench.traffic import Traffic
from ops.errors import InputError
from ops.model.activations import ScoreOptions, Scorer
from ops.model.attention import batch_without_padding
from ops.model.batches import Lengths, TokenBlock, length_batches, pad
from ops.model.load import read_facts
from ops.model.numerics import gpu_kind, torch_dtype
from ops.model.random_weights import save_random
from ops.model.tokenizer import Tokens
from ops.reducers.histogram import edges_from_pilot
from ops.reducers.thresholds import SharedBound
from ops.shards import Ids
from ops.topk.neurons import POLES
from ops.topk.partial_file import read_counts
from ops.topk.score_shard import ShardScorer, score_batch
from ops.topk.shard_sums import SENTENCES_PER_BLOCK, QueuedSums

T = TypeVar("T")
DTYPES = {"cuda": ("float32", "tf32", "bfloat16", "float16"), "cpu": ("float32", "bfloat16")}
TINY: dict[str, Any] = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}


def measure(
    device: Literal["cuda", "cpu"] = "cuda", tiny: bool = False, sentences: int = 100_000, budget: int = 32_768,
    k: int = 10_000, seed: int = 0,
) -> Result:  # fmt: skip
    """Measure each arithmetic.

    Args:
        device: cuda, or cpu to try the program.
        tiny: a model of two layers and few sentences, to try the program.
        sentences: number of sentences.
        budget: tokens of a batch, padding included.
        k: winners of a neuron and pole.
        seed: the seed of the sentences.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("there is no CUDA device here; --device cpu --tiny tries the program")
    if tiny:
        sentences, k, budget = min(sentences, 400), min(k, 50), 1_024
    tokens = random_sentences(sentences, seed)
    own, mixed = (cut(tokens, budget, kind) for kind in ("common", "mixed"))
    packed = pickle.dumps(own)
    result: dict[str, Any] = {
        "device": gpu_kind() if device == "cuda" else "cpu",
        "sentences": sentences,
        "k": k,
        "budget": budget,
        "mean_tokens": round(np.mean([len(t.ids) for t in tokens]), 1),
        "batches": [len(own), len(mixed)],
        "of_one_length": [
            round(sum(len(ids) for ids, block in some if block.of_one_length) / sentences, 4) for some in (own, mixed)
        ],
        "padding_share": [round(1 - real(b) / places(b), 4) for b in (own, mixed)],
        "unpickling_s": round(seconds(device, lambda: pickle.loads(packed))[0], 4),
    }
    right = True
    with temporary_folder() as folder:
        save_random(folder, BertConfig(**(TINY if tiny else {})))
        for dtype in DTYPES[device]:
            result[dtype], whole = measure_arithmetic(str(folder), device, dtype, k, own, mixed)
            right &= whole
    return {**result, "counts_right": right}, right


def cut(sentences: list[Tokens], budget: int, lengths: Lengths) -> Batches:
    """Return the batches of a shard."""
    own = length_batches(np.array([len(t.ids) for t in sentences]), budget, lengths)
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


def measure_arithmetic(
    folder: str, device: str, dtype: str, k: int, batches: Batches, mixed: Batches
) -> tuple[dict[str, object], bool]:
    """Return the measurements for one arithmetic, and whether every sentence was scored and no batch waited."""
    facts = read_facts(folder)
    scorer = Scorer(facts, ScoreOptions(device=device, dtype=dtype, queued=True))
    pilot = torch.cat([score_batch(scorer, tokens)[0] for _, tokens in batches[:: max(len(batches) // 8, 1)]])
    edges = edges_from_pilot(pilot.cpu())
    sentences = sum(len(ids) for ids, _ in batches)
    nobody = np.array([], np.int64)
    shared = SharedBound(edges.numpy(), k)
    first = new_scorer(scorer, k, edges, sentences).run((0, sentences), iter(batches), nobody)
    shared.update(0, read_counts(first.table))
    scored_first = first.scored
    del first
    shard = new_scorer(scorer, k, edges, sentences)
    shard.raise_bounds(*shared.result())
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    waits = Waits(device, batches)
    with waits:
        shard.run((0, sentences), iter(waits), nobody)
    whole, found = seconds(device, lambda: shard.run((0, sentences), iter(batches), nobody))
    memory = torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else None
    model = scorer.reader.model
    alone, padded = (seconds(device, forward(scorer, own))[0] for own in (batches, mixed))
    peak = matrix_products(device, dtype)
    weights = sum(p.numel() for n, p in model.named_parameters() if "embeddings" not in n and "pooler" not in n)
    used = 2 * weights * places(batches) / whole
    figures: dict[str, object] = {
        "scorer_sentences_per_second": round(sentences / whole, 1),
        "forward_sentences_per_second": round(sentences / alone, 1),
        "forward_with_padding_sentences_per_second": round(sentences / padded, 1),
        "over_forward": round(alone / whole, 3),
        "matrix_product_tflops": round(peak / 1e12, 2),
        "scorer_tflops": round(used / 1e12, 3),
        "over_matrix_products": round(used / peak, 3),
        "reducer_bytes_per_value": round(reducer_bytes(shard, pilot.shape[1]), 1),
        "waits_in_batches": waits.within,
        "waits_at_the_end": waits.after,
        "peak_memory_gb": None if memory is None else round(memory, 2),
    }
    return figures, found.scored == sentences == scored_first and not waits.within


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
    if scorer.device.type == "cuda":
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


class Waits:
    """Counts how often the host waits for a GPU while a shard's batches are scored, and after the last batch.

    torch itself warns each time; without a GPU nothing is counted.
    """

    def __init__(self, device: str, batches: Batches) -> None:
        self.device, self.batches = device, batches
        self.within: int | None = None
        self.after: int | None = None
        self.caught: list[warnings.WarningMessage] = []
        self.catching = warnings.catch_warnings(record=True)

    def __enter__(self) -> None:
        self.caught = self.catching.__enter__() or []
        warnings.simplefilter("always")
        if self.device == "cuda":
            torch.cuda.set_sync_debug_mode("warn")

    def __iter__(self) -> Iterator[tuple[Ids, Sequence[Tokens]]]:
        yield from self.batches
        if self.device == "cuda":
            self.within = self._count()

    def __exit__(self, *error: object) -> None:
        if self.device == "cuda":
            torch.cuda.set_sync_debug_mode("default")
            self.after = self._count() - (self.within or 0)
        self.catching.__exit__(None, None, None)

    def _count(self) -> int:
        return waits_among(str(w.message) for w in self.caught)


def waits_among(warned: Iterable[str]) -> int:
    """Return how many of torch's warnings are about an operation that waited.

    `set_sync_debug_mode` itself also warns that it is a prototype and does not detect every synchronizing operation.
    """
    return sum("called a synchronizing" in message for message in warned)


def matrix_products(device: str, dtype: str) -> float:
    """Return the operations per second of a large matrix product."""
    size = 8_192 if device == "cuda" else 512
    a, b = (torch.randn(size, size, device=device, dtype=torch_dtype(dtype)) for _ in range(2))
    rounds = 20
    torch.mm(a, b)
    took, _ = seconds(device, lambda: [torch.mm(a, b) for _ in range(rounds)])
    return 2 * size**3 * rounds / took


def seconds(device: str, work: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds of some work, including the device's queue, and its result."""

    def whole() -> T:
        result = work()
        if device == "cuda":
            torch.cuda.synchronize()
        return result

    if device == "cuda":
        torch.cuda.synchronize()
    took, result = timed(whole)
    return took.clock, result
