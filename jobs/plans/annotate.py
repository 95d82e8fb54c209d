"""What `annotate` would do."""

import time

import numpy as np
import pyarrow as pa

from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import TIMED_S, by_workers, corpus_sample, of_all, spread_seconds
from jobs.stage.runner import Stage
from jobs.steps.annotate import SELECTED, annotate_step, mark_sentences
from ops.errors import counted
from ops.estimate.selection import expected_selected
from ops.estimate.spread import spread
from ops.sentences.pipeline import Annotation, Annotator
from ops.shards import Shards
from ops.storage.tables import stored_bytes

WARM_UP, TOGETHER = 16, 64  # sentences


def plan_annotate(
    record: DryRun, stage: Stage, shards: Shards, pipeline: str, whole: bool, baseline_size: int | None, seed: int
) -> None:
    """Say what the stage would do.

    Args:
        record, stage: the run, and the stage begun.
        shards: the corpus's.
        pipeline: what would annotate.
        whole, baseline_size, seed: as `mark_sentences` takes them.
    """
    topk = record.require("topk")["counts"]
    baseline = shards.sentences if whole or baseline_size is None else min(baseline_size, shards.sentences)
    marks = None
    if not record.is_expected("topk"):
        marks = mark_sentences(record.store, shards, whole, baseline_size, seed)
        chosen = [int(np.count_nonzero(marks[slice(*shards.span(i))])) for i in range(len(shards))]
    else:
        draws = [(topk["k"], topk["neurons"] * topk["poles"]), (topk["activation_sample"], 1), (baseline, 1)]
        each = expected_selected(shards.sentences, draws) / max(shards.sentences, 1)
        chosen = [round(each * (stop - first)) for first, stop in map(shards.span, range(len(shards)))]
    selected = sum(chosen)
    step = annotate_step(shards, selected, {})
    missing = stage.missing(step)
    to_do = sum(chosen[item["shard"]] for item in missing)

    sample = corpus_sample(record, len(shards))
    texts = [t for t, i in zip(sample.texts, sample.sent_ids, strict=True) if marks is None or marks[i] & SELECTED]
    found, seconds = time_annotation(Annotator(pipeline), texts)
    columns = [found.words, found.tags, found.trees]
    annotated = stored_bytes(pa.table(columns, names=["words", "tags", "tree"])) / max(len(found.words), 1)
    plain = stored_bytes(pa.table([sample.texts, [d for _, d in sample.documents]], names=["text", "doc_id"]))
    table = selected * (annotated + plain / max(len(sample.texts), 1))
    about = "" if marks is not None else "about "
    work = [
        f"annotate {about}{to_do:,} of {about}{selected:,} sentences in {of_all(len(missing), len(shards), 'shard')}"
    ]
    work.append(f"{counted(baseline, 'sentence')} of them the baseline")
    basis = [f"timed {counted(len(found.words), 'sentence')} in {seconds:.1f} s"]
    if marks is None:
        basis.append("winners of different neurons counted as if they had no more in common than by chance")
    plan = Plan(
        work,
        spread_seconds(record, len(missing), stage.workers, seconds / max(len(found.words), 1) * to_do, actors=True),
        round(table + selected * annotated),
        round(table),
        [*basis, by_workers(stage.workers)],
    )
    record.plan("annotate", plan, {"sentences": selected, "baseline": baseline})


class Annotated:
    """The columns of some annotated sentences."""

    def __init__(self) -> None:
        self.words: list[list[str]] = []
        self.tags: list[list[str] | None] = []
        self.trees: list[str | None] = []

    def add(self, annotations: list[Annotation]) -> None:
        """Add some."""
        self.words += [a.words for a in annotations]
        self.tags += [a.tags for a in annotations]
        self.trees += [a.tree for a in annotations]


def time_annotation(annotator: Annotator, texts: list[str]) -> tuple[Annotated, float]:
    """Annotate some of these sentences, spread over them all; return what was found, and in how many seconds."""
    annotator.annotate(texts[:WARM_UP])
    found = Annotated()
    order = spread(len(texts))
    started, seconds = time.perf_counter(), 0.0
    for start in range(0, len(order), TOGETHER):
        found.add(annotator.annotate([texts[i] for i in order[start : start + TOGETHER]]))
        seconds = time.perf_counter() - started
        if seconds > TIMED_S:
            break
    return found, seconds
