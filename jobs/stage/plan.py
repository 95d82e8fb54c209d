"""`--dry-run` of a stage: what its steps lack, how long that takes and how large its tables are."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from jobs.engine.connect import stays_here
from jobs.engine.item import Item
from jobs.stage.costs import ACTORS_START_S, FIRST_START_S, SECONDS, TASKS_START_S, seconds_together
from jobs.stage.dry_run import DryRun
from jobs.stage.placement import Placement
from jobs.stage.stages import STAGES
from jobs.stage.step import Step, Steps
from ops.estimate.spread import spread
from ops.estimate.timed_batches import Sentences, TimedBatches
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import batch_lengths
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.schema import row_bytes
from ops.storage.tables import part_name

WARM_UP = 8  # number of sentences that are read before the timing starts
MOST_PARTS, MOST_ROWS = 4, 5_000  # most parts of corpus/, and most rows of a part


def print_plan(
    run: DryRun,
    stage: str,
    workers: int | None,
    missing: Callable[[Step], list[Item]],
    steps: Steps,
    rows: Mapping[str, int],
    counts: Mapping[str, Any],
    notes: Sequence[str],
) -> None:
    """Print what a stage would do, and treat it as complete.

    Args:
        run, stage: the run, and the name of the stage.
        workers: the maximum number of workers of a step.
        missing: returns the items of a step that are not done.
        steps, rows, counts, notes: the arguments of `Stage.complete`.
    """
    lines: list[str] = []
    seconds, unknown = 0.0, []
    for group in steps:
        todo = [missing(step) for step in group]
        for step, items in zip(group, todo, strict=True):
            if step.unit:
                lines.append(_line(stage, step, items))
            took = _seconds(run, step, len(items), step.workers or workers)
            seconds += took or 0.0
            if took is None:
                unknown.append(step.name.rpartition(": ")[2])
        if any(todo):
            break  # what follows depends on what these steps make
    steps.close()
    size = round(sum(number * row_bytes(table) for table, number in rows.items()))
    tables = [table for table in STAGES[stage].tables if rows.get(table, 1)]
    run.plan(stage, [*lines, *notes], seconds, unknown, size, tables, counts)


def _line(stage: str, step: Step, missing: list[Item]) -> str:
    name = step.name.rpartition(": ")[2]
    label = "" if name == stage else f"{name}: "
    line = f"{label}{len(missing):,} of {len(step.items):,} {step.unit}"
    if step.work is None or step.work[1] is None:
        return line
    what, whole = step.work
    left = sum(item["sentences"] for item in missing)
    return f"{line}, {left:,} of {whole:,} {what}"


def _seconds(run: DryRun, step: Step, missing: int, workers: int | None) -> float | None:
    """Return the seconds of a step's missing items, its start included; None if nothing is known about them."""
    if not missing or not (step.unit or step.estimate):
        return 0.0
    every = step.estimate(run) if step.estimate is not None else _by_cost(step)
    if every is None:
        return None
    worker_s = every * missing / len(step.items)
    if step.here or stays_here(missing, workers):
        return worker_s
    start = FIRST_START_S if run.first_spread() else ACTORS_START_S if step.actors else TASKS_START_S
    return seconds_together(missing, workers, worker_s, start)


def _by_cost(step: Step) -> float | None:
    return step.amount * SECONDS[step.name] if step.name in SECONDS else None


def corpus_sample(run: DryRun) -> Sentences:
    """Return blocks of sentences from parts spread over the corpus; without a corpus, the sample of its sources."""
    if run.sample is not None:
        return run.sample
    parts = sorted(spread(len(run.shards()))[:MOST_PARTS])
    tables = []
    for part in parts:
        with run.store.parquet(part_name("corpus", part)) as file:
            tables.append(file.read(columns=["sent_id", "text", "n_tokens"])[:MOST_ROWS])
    return Sentences(
        np.concatenate([table["sent_id"].to_numpy() for table in tables]),
        [text for table in tables for text in table["text"].to_pylist()],
        np.concatenate([table["n_tokens"].to_numpy() for table in tables]),
    )


def pass_seconds(
    run: DryRun, facts: ModelFacts, place: Placement, dtype: str, sentences: int, passes: float
) -> float | None:
    """Return the seconds that one worker needs to have a model read sentences; None if the device is not here.

    Args:
        run: the run; a few batches of its corpus are timed once for each model and placement.
        facts, place, dtype: the model, where it runs, and its arithmetic.
        sentences: the number of sentences.
        passes: what a sentence costs, as a multiple of the forward pass.
    """
    if place.device == "cuda" and not torch.cuda.is_available():
        return None
    timed = (facts.fingerprint, place.device, dtype, place.threads, place.token_budget)
    if timed not in run.forward_s:
        tokenizer, sample = Tokenizer(facts), corpus_sample(run)
        options = ScoreOptions("hidden", "mean", "include", place.device, dtype, place.threads or 1)
        scorer = Scorer(facts, options, tokenizer.pad_id)
        batches = TimedBatches(*sample, tokenizer, place.token_budget, run.timed_s, batch_lengths(place.device))
        scorer.score(tokenizer.encode(sample.texts[:WARM_UP]))
        started = time.perf_counter()
        for _, tokens in batches:
            scorer.score(tokens)
        batches.seconds = time.perf_counter() - started
        run.forward_s[timed] = batches.seconds_for(1)
    return run.forward_s[timed] * sentences * passes
