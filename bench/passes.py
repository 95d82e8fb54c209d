"""Shared code of the benchmarks of a model's passes: batches for the plain model, its passes, and repeated timing."""

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Sequence

import torch

from ops.model.batches import pad
from ops.model.tokenizer import Tokens

Inputs = list[dict[str, torch.Tensor]]


def add_options(parser: argparse.ArgumentParser, model_help: str) -> None:
    """Add the options that all of these benchmarks have."""
    parser.add_argument("--model", default="sample", help=model_help)
    parser.add_argument("--repeats", type=int, default=5, help="times that each way is measured, one after the other")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")


def padded(batches: Iterable[Sequence[Tokens]], pad_id: int) -> Inputs:
    """Return batches in the form that a model of transformers takes, on the CPU."""
    inputs = []
    for batch in batches:
        ids, real, _ = pad(batch, pad_id, torch.device("cpu"))
        inputs.append({"input_ids": ids, "attention_mask": real.long()})
    return inputs


@torch.inference_mode()
def read_plainly(model: torch.nn.Module, inputs: Inputs, times: int = 1) -> None:
    """Run the model over all batches, `times` times."""
    for _ in range(times):
        for batch in inputs:
            model(**batch)


def interleaved(work: dict[str, Callable[[], None]], repeats: int) -> dict[str, list[float]]:
    """Return the processor seconds of each function in each round, after one round that is not counted.

    Each round calls all functions in turn.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for round_ in range(repeats + 1):
        for name, run in work.items():
            started = time.process_time()
            run()
            if round_:
                seconds[name].append(time.process_time() - started)
    return seconds


def ratio(seconds: list[float], others: list[float]) -> float:
    """Return the median over rounds of the ratio of two times."""
    return statistics.median(a / b for a, b in zip(seconds, others, strict=True))
