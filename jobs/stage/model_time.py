"""The time that a model takes to read sentences, for `--dry-run`.

Every worker imports the life cycle of a stage, and most need no PyTorch, so this is apart from it.
"""

from functools import partial
from typing import Any

import numpy as np
import torch

from jobs.stage.dry_run import DryRun
from jobs.stage.placement import Placement
from jobs.stage.step import Step
from ops.estimate.timed_batches import Sentences, seconds_of_a_sentence, spread
from ops.model.activations import ScoreOptions, Scorer
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.storage.tables import part_name

WARM_UP = 8  # number of sentences that are read before the timing starts
MOST_PARTS, MOST_ROWS = 4, 5_000  # most parts of corpus/, and most rows of a part


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
    run: DryRun, facts: ModelFacts, placement: Placement, dtype: str, sentences: int, passes: float
) -> float | None:
    """Return the seconds that one worker needs to have a model read sentences; None if the device is not here.

    Args:
        run: the run; a few batches of its corpus are timed once for each model and placement.
        passes: what a sentence costs, as a multiple of the forward pass.
    """
    if placement.device == "cuda" and not torch.cuda.is_available():
        return None
    timed = (facts.fingerprint, placement.device, dtype, placement.threads, placement.token_budget)
    if timed not in run.forward_s:
        tokenizer, sample = Tokenizer(facts), corpus_sample(run)
        options = ScoreOptions("hidden", "mean", "include", placement.device, dtype, placement.threads or 1)
        scorer = Scorer(facts, options, tokenizer.pad_id)
        scorer.score(tokenizer.encode(sample.texts[:WARM_UP]))
        budget = placement.token_budget
        run.forward_s[timed] = seconds_of_a_sentence(sample, tokenizer, budget, scorer.score, run.timed_s)
    return run.forward_s[timed] * sentences * passes


def model_step(
    facts: ModelFacts, placement: Placement, dtype: str, sentences: int, passes: float = 1.0, **attributes: Any
) -> Step:
    """Return a step whose workers load a model and read sentences; `attributes` are the others of the step."""
    estimate = partial(pass_seconds, facts=facts, placement=placement, dtype=dtype, sentences=sentences, passes=passes)
    return Step(estimate=estimate, **placement.spread, **attributes)
