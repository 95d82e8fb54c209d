"""Measure what a model does without its position embeddings, or with altered ones.

    python -m jobs.positions --out runs/docs --preset small --corpus pydocs --limit 5000
    python -m jobs.positions --out runs/reviews --split none --corpus reviews.parquet --label sentiment
    ray job submit --working-dir . -- python -m jobs.positions --out s3://bkt/run --preset paper --gpus 8 --model gpt2

Writes positions/similarity, by_class, by_position, norms, figures and, for decoders, perplexity and
perplexity_by_position; with --label, positions/labels. After Hirata 2024. With --corpus, it reads the sources first
(jobs.ingest). Print the result with python -m jobs.show --out runs/docs --positions. docs/positions.md explains the
variants and the interpretations of the linear mask.

Published results for comparison (Hirata 2024): for an encoder, BERT-base without position embeddings on 25,000 IMDB
texts, the mean cosine of the last layer is 0.7702. For a decoder, GPT-2 on the 817 questions of TruthfulQA, the
perplexity is 111.24 with positions, 712,014 without, and 11,897 without positions but with a linear mask. The cosines
of the features are 0.9291 (with against without positions) and 0.9347 (default against linear mask).
"""

from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import BeforeValidator, Field

from jobs.ingest import job as ingest
from jobs.stage.command_line import Job, in_run
from jobs.stage.options import SampledPassConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run
    from ops.model.load import ModelFacts


def _names(value: object) -> object:
    """Split names that are given separately or as a comma-separated list."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return tuple(name.strip() for v in value for name in v.split(",") if name.strip())
    return value


class PositionsConfig(SampledPassConfig):
    """Options of `positions`, and the options of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (60, "Position embeddings (positions)")
    notes: ClassVar[tuple[str, ...]] = (
        "--variants: none, shuffled, shifted, constant",
        "--variants of decoders only: none_self_only, none_additive_linear, none_multiplicative_linear, "
        "none_multiplicative_linear_raw, none_alibi, multiplicative_linear",
    )

    variants: Annotated[tuple[str, ...], BeforeValidator(_names)] = Field(
        (),
        description="Measure these variants of the positions; repeatable (default: all; decoders: those named none*)",
    )
    shift: int = Field(16, ge=1, description="Move every token on by this many positions in the variant shifted")
    max_tokens: int | None = Field(
        None, ge=2, description="Cut texts to this many tokens, special ones included (default: the model's limit)"
    )
    start_token: bool = Field(False, description="Put the start token before each text (decoders)")
    answer_column: str | None = Field(
        None, description="Append the value of this column to each text, such as the answer to a question"
    )
    label: str | None = Field(
        None, description="Column of the sources that a linear classifier predicts from the states"
    )
    label_texts: int = Field(10_000, ge=10, description="Draw this many texts for the classifier")
    label_splits: int = Field(20, ge=2, description="Fit the classifier this many times, each on another split")


def do(config: PositionsConfig, record: "Run") -> None:
    """Run the stage, or the missing part of it, after `ingest` if sources are named."""
    from jobs.positions.measure import measure, plan, read_labels
    from jobs.stage.checks import check_column, check_pass, check_source_column
    from jobs.stage.corpus_pass import run_pass

    facts, tokenizer = check_pass(config, record)
    variants = check(config, facts)
    columns = {"--label": config.label, "--answer-column": config.answer_column}
    for flag, column in columns.items():
        check_source_column(config, flag, column)
    ingest.do_where_named(config, record)
    for flag, column in columns.items():
        check_column(record, flag, column)
    texts = read_labels(config, record)
    names = ("shift", "max_tokens", "start_token", "answer_column", "label", "label_texts", "label_splits")
    depends_on = {"variants": list(variants), **{name: getattr(config, name) for name in names}}
    given = (config, variants, texts)
    run_pass("positions", config, record, facts, tokenizer, depends_on, partial(measure, *given), partial(plan, *given))


def check(config: PositionsConfig, facts: "ModelFacts") -> tuple[str, ...]:
    """Reject invalid options before anything heavy starts, and return the variants to measure.

    Raises:
        InputError: the model has no position embeddings of a known kind, or an option is not suitable for it.
    """
    from ops.errors import InputError
    from ops.positions.encode import Encoder, Encoding
    from ops.positions.position_table import DECODERS, check_positions
    from ops.positions.variants import choose_variants

    check_positions(facts)
    decoder = facts.model_type in DECODERS
    variants = choose_variants(config.variants, decoder)
    limit = facts.position_limit
    if config.start_token and not decoder:
        raise InputError(f"--start-token: {facts.name} is an encoder; leave it out")
    if config.max_tokens is not None and config.max_tokens > limit:
        raise InputError(
            f"--max-tokens {config.max_tokens}: {facts.name} takes {limit} tokens at most; give a smaller number"
        )
    if "shifted" in variants and config.shift >= limit:
        raise InputError(f"--shift {config.shift}: {facts.name} has {limit} positions; shift by fewer")
    Encoder(facts, Encoding(config.max_tokens, config.start_token))
    return variants


JOB = Job("positions", PositionsConfig, in_run(do), __doc__)
