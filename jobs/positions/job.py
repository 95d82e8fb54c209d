"""Measure what a model does without its position embeddings, or with altered ones.

    atlas positions --out runs/docs --preset small --corpus pydocs --limit 5000
    atlas positions --out runs/reviews --split none --corpus reviews.parquet --label sentiment
    ray job submit --working-dir . -- python -m jobs.positions --out s3://bkt/run --preset paper --gpus 8 --model gpt2

Writes positions/similarity, by_class, by_position, norms, figures and, for decoders, perplexity and
perplexity_by_position; with --label, positions/labels. After Hirata 2024. With --corpus, it reads the sources first
(jobs.ingest). Print the result with atlas show --out runs/docs --positions. docs/positions.md explains the
variants and the interpretations of the linear mask.

Published results for comparison (Hirata 2024): for an encoder, BERT-base without position embeddings on 25,000 IMDB
texts, the mean cosine of the last layer is 0.7702. For a decoder, GPT-2 on the 817 questions of TruthfulQA, the
perplexity is 111.24 with positions, 712,014 without, and 11,897 without positions but with a linear mask. The cosines
of the features are 0.9291 (with against without positions) and 0.9347 (default against linear mask).
"""

from typing import Annotated

from pydantic import BeforeValidator

from jobs.options.configs import SampledPassConfig, option
from jobs.stage.main import Job


def _names(value: object) -> object:
    """Split names that are given separately or as a comma-separated list."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return tuple(name.strip() for v in value for name in v.split(",") if name.strip())
    return value


class PositionsConfig(SampledPassConfig):
    """Options of `positions`, and the options of `ingest` for when --corpus is given."""

    heading = (60, "Position embeddings (positions)")
    notes = (
        "--variants: none, shuffled, shifted, constant",
        "--variants of decoders only: none_self_only, none_additive_linear, none_multiplicative_linear, "
        "none_multiplicative_linear_raw, none_alibi, multiplicative_linear",
    )

    variants: Annotated[tuple[str, ...], BeforeValidator(_names)] = option(
        (), "Measure these variants of the positions; repeatable (default: all; decoders: those named none*)"
    )
    shift: int = option(16, "Move every token on by this many positions in the variant shifted", ge=1)
    max_tokens: int | None = option(
        None, "Cut texts to this many tokens, special ones included (default: the model's limit)", ge=2
    )
    start_token: bool = option(False, "Put the start token before each text (decoders)")
    answer_column: str | None = option(
        None, "Append the value of this column to each text, such as the answer to a question"
    )
    label: str | None = option(None, "Column of the sources that a linear classifier predicts from the states")
    label_texts: int = option(10_000, "Draw this many texts for the classifier", ge=10)
    label_splits: int = option(20, "Fit the classifier this many times, each on another split", ge=2)


JOB = Job("positions", PositionsConfig, "jobs.positions.steps:positions", __doc__)
