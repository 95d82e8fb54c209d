"""Measure what words mean by what stands around them: counts of contexts, their vectors, similarity and offsets.

    python -m jobs.meaning --out runs/meaning --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.meaning --out s3://bkt/run --preset paper --model bert-base-uncased

Part `counts` writes meaning/contexts and meaning/words; part `offsets` compares words in these vectors, in the model's
token table and in each of its layers, and writes meaning/neighbours, meaning/analogies and meaning/figures. With
--corpus it reads the sources first (jobs.ingest). Look at a word with
python -m jobs.show --out runs/meaning --word file.
"""

import sys
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from jobs import ingest
from jobs.stage.command_line import main
from jobs.stage.config import INGEST_ONLY, CorpusPassConfig

if TYPE_CHECKING:
    from jobs.stage.record import Run
    from ops.meaning.analogies import Analogies
    from ops.model.load import ModelFacts
    from ops.model.tokenizer import Tokenizer

PARTS = ("counts", "offsets")


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class MeaningConfig(CorpusPassConfig):
    """Options of `meaning`, and those of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (60, "meaning")

    parts: str = Field("", description=f"parts to do, with commas: {', '.join(PARTS)}; none given: all")
    context_words: Annotated[str, BeforeValidator(_text)] = Field(
        "2000", description="file with a context word a line, or how many: the most frequent content words"
    )
    window: int = Field(5, ge=1, description="words to each side of a word, within the sentence, that are its context")
    word_case: Literal["keep", "lower"] = Field("keep", description="words as written, or folded to lower case")
    min_count: int = Field(5, ge=1, description="least occurrences of a word that is kept, once all are added up")
    smoothing: float = Field(0.75, gt=0, le=1, description="power of the context words' counts in the PPMI; 1: none")
    dimensions: int = Field(100, ge=1, le=10_000, description="dimensions of the words' vectors")
    singular_power: float = Field(0.5, ge=0, le=1, description="power of the singular values in the words' vectors")
    offset_words: int = Field(10_000, ge=4, description="most words that are compared, the most frequent ones")
    model_sample: int | None = Field(
        None, ge=1, description="sentences that the model reads, a uniform sample; none given: all"
    )
    neighbours: int = Field(10, ge=1, description="nearest words that are kept of each word and space")
    analogies: str = Field(
        "", description="file of questions (`: category`, then four words a line); none given: the packaged ones"
    )


def run(config: MeaningConfig) -> None:
    """Do the parts, or what is missing of them; first `ingest` where sources are named."""
    from jobs.stage.dry_run import open_run

    with open_run(config) as record:
        do(config, record)


def do(config: MeaningConfig, record: "Run") -> None:
    """Do the parts, or what is missing of them, in an open run; first `ingest` where sources are named."""
    from ops.meaning.analogies import read_analogies
    from ops.meaning.vocabulary import read_context_words

    parts = chosen_parts(config)
    context_words = read_context_words(config.context_words, config.word_case)
    questions = read_analogies(config.analogies)
    model = prepare(config, record, parts)
    ingest.do_where_named(config, record)
    if "counts" in parts:
        count(config, record, context_words)
    if model is not None:
        compare(config, record, *model, questions)


def chosen_parts(config: MeaningConfig) -> tuple[str, ...]:
    """Return the parts to do, in their order.

    Raises:
        InputError: there is no such part.
    """
    from ops.errors import InputError

    given = [part.strip() for part in config.parts.split(",")] if config.parts else list(PARTS)
    for part in given:
        if part not in PARTS:
            raise InputError(f"--parts {config.parts}: there is no part {part!r}; name some of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in given)


def prepare(config: MeaningConfig, record: "Run", parts: tuple[str, ...]) -> "tuple[ModelFacts, Tokenizer] | None":
    """Check options, sources and model before anything heavy starts; return the model where a part reads it.

    Raises:
        InputError: something is missing or does not fit.
    """
    from jobs.stage.checks import check_ingest_options, check_pass, check_sources
    from ops.errors import InputError

    if "offsets" not in parts:
        check_ingest_options(config)
        if config.corpus:
            check_sources(config)
        else:
            record.require("ingest")
        return None
    facts, tokenizer = check_pass(config, record)
    if "counts" not in parts and not record.complete("meaning/counts"):
        raise InputError("--parts offsets: compares the words that were counted; give --parts counts,offsets")
    if not tokenizer.has_spans:
        why = f"the tokenizer of {config.model} does not say where in the text its tokens stand"
        if config.parts:
            raise InputError(f"--parts {config.parts}: {why}; give --parts counts")
        print(f"meaning: offsets are left out: {why}", file=sys.stderr)
        return None
    return facts, tokenizer


def count(config: MeaningConfig, record: "Run", context_words: int | list[str]) -> None:
    """Write meaning/contexts and meaning/words."""
    from jobs.stage.dry_run import DryRun
    from jobs.stage.step import begin
    from jobs.steps import meaning_counts as steps
    from jobs.steps.meaning_tables import publish
    from ops.shards import Shards
    from ops.storage.fingerprint import fingerprint

    corpus = record.require("ingest")
    names = ("window", "word_case", "min_count", "smoothing", "dimensions", "singular_power", "seed")
    identity: dict[str, Any] = {name: getattr(config, name) for name in names}
    listed = isinstance(context_words, list)
    identity["context_words"] = fingerprint({"words": sorted(context_words)}) if listed else context_words
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
    from jobs.steps import meaning_offsets as steps
    from jobs.steps.meaning_spaces import publish
    from ops.storage.fingerprint import fingerprint

    identity = {name: getattr(config, name) for name in ("offset_words", "model_sample", "neighbours")}
    identity["analogies"] = fingerprint({"questions": questions.questions})
    group = steps.group_size(record, facts, config.offset_words)
    job = begin_pass(steps.OFFSETS, config, record, facts, tokenizer, identity, group)
    if job is None:
        return
    job.stage.entry["model"] = describe(facts)
    args = steps.offset_args(job, facts, config.dtype, config.offset_words, config.model_sample)
    if isinstance(record, DryRun):
        from jobs.plans.meaning import plan_offsets

        plan_offsets(record, job, args, tokenizer, config.neighbours)
        return
    job.do(steps.read_step(job, args))
    publish(job, args, tokenizer, questions, config.neighbours)


if __name__ == "__main__":
    sys.exit(main(MeaningConfig, "meaning", str(__doc__).splitlines()[0], run))
