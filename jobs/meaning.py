"""Measure what words and sentences mean: counted contexts, vectors, offsets, the next sentence, short codes.

    python -m jobs.meaning --out runs/meaning --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.meaning --out s3://bkt/run --preset paper --model bert-base-uncased

Parts: `counts` of contexts, `offsets` of words in the counts' vectors and in the model's token table and layers,
`confusion` of blanked words, `sentences` (the next one, masked words, translations), `hashing` to short codes:
docs/meaning.md. With --corpus it ingests first. python -m jobs.show --out runs/meaning --word file prints a word.
"""

import sys
from typing import TYPE_CHECKING

from jobs.ingest import job as ingest
from jobs.stage.command_line import main
from jobs.stage.meaning_config import MeaningConfig
from jobs.stage.options import INGEST_ONLY

if TYPE_CHECKING:
    from jobs.stage.run import Run
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
    parts, model = check_parts(config, record, parts, bool(config.parts))
    ingest.do_where_named(config, record)
    if "counts" in parts:
        count(config, record, context_words)
    if model is None:
        return
    if "offsets" in parts:
        compare(config, record, *model, questions)
    if "confusion" in parts:
        confuse(config, record, *model, sets)
    if "sentences" in parts:
        follow(config, record, *model)
    if "hashing" in parts:
        compress(config, record, *model)


def count(config: MeaningConfig, record: "Run", context_words: int | list[str]) -> None:
    """Write meaning/contexts and meaning/words."""
    from jobs.stage.dry_run import DryRun
    from jobs.stage.runner import begin
    from jobs.steps.meaning import counts as steps
    from jobs.steps.meaning.tables import publish
    from ops.shards import Shards

    corpus = record.require("ingest")
    identity = steps.identity(config, context_words)
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
    from jobs.stage.corpus_pass import begin_side_pass
    from jobs.stage.dry_run import DryRun
    from jobs.steps.meaning import offsets as steps
    from jobs.steps.meaning.spaces import publish

    group = steps.group_size(record, facts, config.offset_words)
    identity = steps.identity(config, questions)
    job = begin_side_pass(steps.OFFSETS, config, record, facts, tokenizer, identity, group)
    if job is None:
        return
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
    from jobs.stage.corpus_pass import begin_side_pass
    from jobs.stage.dry_run import DryRun
    from jobs.steps.meaning import confusion as steps
    from jobs.steps.meaning import sets
    from jobs.steps.meaning.parts import say

    job = begin_side_pass(steps.CONFUSION, config, record, facts, tokenizer, steps.identity(config, words))
    if job is None:
        return
    args = steps.confusion_args(job, config, words)
    if isinstance(record, DryRun):
        from jobs.plans.meaning_confusion import plan_confusion

        plan_confusion(record, job, args, tokenizer)
        return
    job.do(steps.find_step(job, args))
    job.stage.do(sets.sets_step(args))
    left_out = sets.publish(job, args, bool(config.confusion))
    if left_out:
        say(f"too few examples, or of one word alone, of {', '.join(left_out)}: left out")


def follow(config: MeaningConfig, record: "Run", facts: "ModelFacts", tokenizer: "Tokenizer") -> None:
    """Write meaning/sentences, meaning/masked_words, meaning/translations and their figures."""
    from jobs.stage.corpus_pass import begin_side_pass
    from jobs.stage.dry_run import DryRun
    from jobs.steps.meaning import sentence_blocks as blocks
    from jobs.steps.meaning import sentences as steps
    from jobs.steps.meaning.parts import language_column, say
    from jobs.steps.meaning.sentence_tables import publish

    language = language_column(record, config.language_column, config.translation_column)
    job = begin_side_pass(steps.SENTENCES, config, record, facts, tokenizer, steps.identity(config, language))
    if job is None:
        return
    args = steps.sentence_args(job, config, language)
    if isinstance(record, DryRun):
        from jobs.plans.meaning_sentences import plan_sentences

        plan_sentences(record, job, args, tokenizer)
        return
    job.stage.do(steps.draw_step(job, args))
    chosen = steps.choose_sentences(args)
    reading = blocks.read_step(job, args, chosen)
    job.stage.do(reading)
    for missing in publish(job, args, reading, chosen, tokenizer, bool(config.parts)):
        say(f"left out: {missing}")


def compress(config: MeaningConfig, record: "Run", facts: "ModelFacts", tokenizer: "Tokenizer") -> None:
    """Write meaning/hashing, meaning/plane and their figures."""
    from jobs.stage.corpus_pass import begin_side_pass
    from jobs.stage.dry_run import DryRun
    from jobs.steps.meaning import codes
    from jobs.steps.meaning import hashing as steps
    from jobs.steps.meaning.parts import check_layer, say

    layer = check_layer(config.hash_layer, facts)
    drawn = steps.draw_labelled(record, config)
    if len(drawn.sent_ids) and not drawn.labels:
        say("left out: hashing (no topic, category or dataset of two classes; --label names another column)")
        return
    job = begin_side_pass(steps.HASHING, config, record, facts, tokenizer, steps.identity(config, layer))
    if job is None:
        return
    args = steps.hash_args(job, config, layer)
    if isinstance(record, DryRun):
        from jobs.plans.meaning_hashing import plan_hashing

        plan_hashing(record, job, args, tokenizer, config.hashed_sentences)
        return
    steps.keep_drawn(args, drawn)
    job.do(steps.state_step(job, args, drawn.sent_ids))
    job.stage.do(codes.codes_step(args))
    codes.publish(job, args, drawn)


if __name__ == "__main__":
    sys.exit(main(MeaningConfig, "meaning", str(__doc__).splitlines()[0], run))
