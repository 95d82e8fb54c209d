"""Estimated durations of steps and model passes for `--dry-run`, computed from a sample that is timed."""

import math
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from jobs.engine.connect import stays_here
from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.dry_run import DryRun
from jobs.stage.runner import Step
from ops.errors import counted
from ops.estimate.spread import spread
from ops.estimate.timed_batches import Sentences, TimedBatches
from ops.model.batches import batch_lengths
from ops.model.tokenizer import Tokenizer, Tokens
from ops.shards import Ids
from ops.storage.tables import part_name

WARM_UP = 8  # number of sentences that are read before the timing starts
# Measured on two cores (docs/scale.md): the time from a job's start to its first item, and the start of more actors or
# tasks.
FIRST_START_S, ACTORS_START_S, TASKS_START_S = 10.6, 3.5, 0.2
MOST_PARTS, MOST_ROWS = 4, 5_000  # most parts of corpus/, and most rows of a part


def corpus_sample(record: DryRun, corpus_parts: int) -> Sentences:
    """Return blocks of sentences from parts spread over the corpus; without a corpus, the sample of its sources."""
    if record.sample is not None:
        return record.sample
    ids: list[Ids] = []
    texts: list[str] = []
    tokens: list[Ids] = []
    documents: list[tuple[str, str]] = []
    for part in sorted(spread(corpus_parts)[:MOST_PARTS]):
        with record.store.parquet(part_name("corpus", part)) as file:
            table = file.read(columns=["sent_id", "text", "n_tokens", "dataset", "doc_id"])[:MOST_ROWS]
        ids.append(table["sent_id"].to_numpy())
        texts += table["text"].to_pylist()
        tokens.append(table["n_tokens"].to_numpy())
        documents += zip(table["dataset"].to_pylist(), table["doc_id"].to_pylist(), strict=True)
    return Sentences(np.concatenate(ids), texts, np.concatenate(tokens), documents)


class PassEstimate:
    """The missing shards of a pass, and the time they take.

    Args:
        record, job: the run and the pass.
        step: the step whose items are the shards.
    """

    def __init__(self, record: DryRun, job: CorpusPass, step: Step) -> None:
        self.record, self.job, self.step = record, job, step
        self.tokenizer = Tokenizer(job.args.facts)
        self.missing = job.stage.missing(step)
        self.sentences = sum(item.get("sentences", item["span"][1] - item["span"][0]) for item in self.missing)
        self.sample = corpus_sample(record, len(record.shards()))

    @property
    def can_time(self) -> bool:
        """Whether the device that the pass would use is available in this process."""
        return self.job.placement.device == "cpu" or torch.cuda.is_available()

    def batches(self, texts: Sentences | None = None) -> TimedBatches:
        """Return batches to time the pass on, taken from the sample or from texts made from it."""
        own = self.sample if texts is None else texts
        columns = (own.sent_ids, own.texts, own.n_tokens)
        place = self.job.placement
        return TimedBatches(
            *columns, self.tokenizer, place.token_budget, self.record.timed_s, batch_lengths(place.device)
        )

    def time(
        self,
        work: Callable[[Iterator[tuple[Ids, Sequence[Tokens]]]], object],
        texts: Sentences | None = None,
        besides: float = 0.0,
    ) -> TimedBatches:
        """Time a worker's computation on batches of the sample, or of texts made from it, and return the batches.

        Args:
            work: does the computation on the batches that it is given. It is first called with some sentences that are
                not timed.
            texts: the texts to read in place of the sample.
            besides: the seconds that it takes regardless of the batches; they are subtracted.
        """
        own = self.sample if texts is None else texts
        batches = self.batches(texts)
        work(iter([(own.sent_ids[:WARM_UP], self.tokenizer.encode(own.texts[:WARM_UP]))]))
        started = time.perf_counter()
        work(iter(batches))
        batches.seconds = max(time.perf_counter() - started - besides, batches.seconds)
        return batches

    def work(self, verb: str) -> str:
        """Return a line that says what would be done with the shards."""
        size = self.job.per_group
        done = f"{verb} {of_all(len(self.missing), len(self.step.items), 'shard' if size == 1 else 'group')}"
        done += "" if size == 1 else f" of {size} shards"
        return f"{done}, {of_all(self.sentences, self.job.sentences, 'sentence')}"

    def seconds(self, worker_s: float) -> float:
        """Return the seconds that the missing shards take if one worker alone would take `worker_s` seconds."""
        return spread_seconds(self.record, len(self.missing), self.job.placement.workers, worker_s, actors=True)

    def basis(self, timed: TimedBatches | None, what: str = "sentence") -> list[str]:
        """Return lines that say what the estimate is based on."""
        place = self.job.placement
        if timed is None:
            return [f"nothing timed: there is no {place.device} device here"]
        whose = "of the corpus" if self.record.sample is None else "of the sources"
        on = f"on {place.device}, batches of {place.token_budget:,} tokens"
        return [
            f"timed {counted(timed.sentences, what)} {whose} in {timed.seconds:.1f} s {on}",
            by_workers(place.workers),
        ]


def spread_seconds(record: DryRun, items: int, workers: int | None, worker_s: float, actors: bool = False) -> float:
    """Return the seconds of a step, start included, whose missing items would take one worker `worker_s` seconds.

    Args:
        record: the run; it notes that Ray would be running after this step.
        items: the number of missing items, assumed to be of equal length.
        workers: the maximum number of workers; None, for as many as a cluster brings up, counts as one.
        worker_s: the seconds of work in all items.
        actors: whether the step's workers are actors.
    """
    if not items:
        return 0.0
    if stays_here(items, workers):
        return worker_s
    start = FIRST_START_S if record.first_spread() else ACTORS_START_S if actors else TASKS_START_S
    rounds = math.ceil(items / min(workers or 1, items))
    return start + worker_s * rounds / items


def by_workers(workers: int | None) -> str:
    """Return a phrase that describes a number of workers."""
    if workers is None:
        return "the time of one worker; all workers that the cluster brings up share it"
    return f"{workers} worker{'s' if workers > 1 else ''}, start-up included (docs/scale.md)"


def of_all(missing: int, everything: int, what: str) -> str:
    """Return a phrase that says how many of all things are missing: `2 of 3 shards`."""
    return f"{missing:,} of {counted(everything, what)}"
