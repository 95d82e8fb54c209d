"""Measure what words mean by what stands around them: counts of contexts, their vectors, similarity and offsets.

    python -m jobs.meaning --out runs/meaning --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.meaning --out s3://bkt/run --preset paper --model bert-base-uncased

Part `counts` writes meaning/contexts and meaning/words; part `offsets` compares words in these vectors, in the model's
token table and in each of its layers, and writes meaning/neighbours, meaning/analogies and meaning/figures; part
`confusion` blanks words that are confused and writes meaning/confusion and meaning/confusion_figures. With --corpus it
reads the sources first (jobs.ingest). Look at a word with python -m jobs.show --out runs/meaning --word file.
"""

import sys
from typing import TYPE_CHECKING, Any

from jobs import ingest
from jobs.stage.command_line import main
from jobs.stage.config import INGEST_ONLY
from jobs.stage.meaning_config import MeaningConfig

if TYPE_CHECKING:
    from jobs.stage.record import Run
    from ops.meaning.analogies import Analogies
    from ops.model.load import ModelFacts
    from ops.model.tokenizer import Tokenizer


def run(config: MeaningConfig) -> None:
    """Do the parts, or what is missing of them; first `ingest` where sources are named."""
    from jobs.stage.dry_run import open_run

    with open_run(config) as record:
        do(config, record)


def do(config: MeaningConfig, record: "Run") -> None:
    """Do the parts, or what is missing of them, in an open run; first `ingest` where sources are named."""
    from jobs.steps.meaning.parts import check_parts, chosen_parts
    from ops.meaning.analogies import read_analogies
    from ops.meaning.confusion import DEFAULT, read_sets
    from ops.meaning.vocabulary import read_context_words

    parts = chosen_parts(config.parts)
    context_words = read_context_words(config.context_words, config.word_case)
    questions = read_analogies(config.analogies)
    sets = read_sets(config.confusion or DEFAULT)
    model = check_parts(config, record, parts, bool(config.parts))
    ingest.do_where_named(config, record)
    if "counts" in parts:
        count(config, record, context_words)
    if model is not None and "offsets" in parts:
        compare(config, record, *model, questions)
    if model is not None and "confusion" in parts:
        confuse(config, record, *model, sets)


def count(config: MeaningConfig, record: "Run", context_words: int | list[str]) -> None:
    """Write meaning/contexts and meaning/words."""
    from jobs.stage.dry_run import DryRun
    from jobs.stage.step import begin
    from jobs.steps.meaning import counts as steps
    from jobs.steps.meaning.tables import publish
    from ops.shards import Shards
    from ops.storage.fingerprint import fingerprint

    corpus = record.require("ingest")
    names = ("window", "word_case", "min_count", "smoothing", "dimensions", "singular_power", "seed")
    identity: dict[str, Any] = {name: getattr(config, name) for name in names}
    if isinstance(context_words, list):
        identity["context_words"] = fingerprint({"words": sorted(context_words)})
    else:
        identity["context_words"] = context_words
    options = {n: v for n, v in config.model_dump(mode="json").items() if n not in INGEST_ONLY}
    stage = begin(steps.COUNTS, config, record, identity, options, ("words", "words counted"))
    if stage is None:
        return
    shards = Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"])
    args = steps.CountArgs(stage.store, stage.fingerprint, config.window, config.word_case, shards)
    if isinstance(record, DryRun):
        from jobs.plans.meaning import plan_counts

        plan_counts(record, stage, args, config.min_count, context_words, config.dimensions)
        return
    stage.do(steps.words_step(args))
    vocabulary = steps.choose_words(args, config.min_count, context_words)
    stage.do(steps.contexts_step(args))
    stage.do(steps.merge_step(args, len(vocabulary.rows)))
    publish(stage, args, vocabulary, identity)


def compare(
    config: MeaningConfig, record: "Run", facts: "ModelFacts", tokenizer: "Tokenizer", questions: "Analogies"
) -> None:
    """Write meaning/neighbours, meaning/analogies and the figures; the words are to have been counted."""
    from jobs.stage.corpus_pass import begin_pass, describe
    from jobs.stage.dry_run import DryRun
    from jobs.steps.meaning import offsets as steps
    from jobs.steps.meaning.spaces import publish
    from ops.storage.fingerprint import fingerprint

    identity = {name: getattr(config, name) for name in ("offset_words", "model_sample", "neighbours")}
    identity["analogies"] = fingerprint({"questions": questions.questions})
    group = steps.group_size(record, facts, config.offset_words)
    job = begin_pass(steps.OFFSETS, config, record, facts, tokenizer, identity, group)
    if job is None:
        return
    job.stage.entry["model"] = describe(facts)
    args = steps.offset_args(job, config.offset_words, config.model_sample)
    if isinstance(record, DryRun):
        from jobs.plans.meaning import plan_offsets

        plan_offsets(record, job, args, tokenizer, config.neighbours)
        return
    job.do(steps.read_step(job, args))
    publish(job, args, tokenizer, questions, config.neighbours)


def confuse(
    config: MeaningConfig, record: "Run", facts: "ModelFacts", tokenizer: "Tokenizer", words: list[tuple[str, ...]]
) -> None:
    """Write meaning/confusion and its figure."""
    from jobs.stage.corpus_pass import begin_pass, describe
    from jobs.stage.dry_run import DryRun
    from jobs.steps.meaning import confusion as steps
    from jobs.steps.meaning import sets as sets

    names = ("window", "confusion_most", "confusion_states")
    identity: dict[str, Any] = {name: getattr(config, name) for name in names}
    identity["confusion"] = ", ".join(" ".join(own) for own in words)
    job = begin_pass(steps.CONFUSION, config, record, facts, tokenizer, identity)
    if job is None:
        return
    job.stage.entry["model"] = describe(facts)
    limits = (config.window, config.confusion_most, config.confusion_states)
    args = steps.confusion_args(job, words, *limits)
    if isinstance(record, DryRun):
        from jobs.plans.meaning_confusion import plan_confusion

        plan_confusion(record, job, args, tokenizer)
        return
    job.do(steps.find_step(job, args))
    job.stage.do(sets.sets_step(args))
    left_out = sets.publish(job, args, bool(config.confusion))
    if left_out:
        from ops.errors import visible

        print(
            f"meaning: too few examples, or of one word alone, of {visible(', '.join(left_out))}: left out",
            file=sys.stderr,
        )


if __name__ == "__main__":
    sys.exit(main(MeaningConfig, "meaning", str(__doc__).splitlines()[0], run))
