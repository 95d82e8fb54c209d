"""Measure, over the complete corpus, how much attention mixes tokens and how much it preserves them.

    python -m jobs.mixing --out runs/docs --preset small --corpus pydocs --limit 5000
    python -m jobs.mixing --out runs/large --sentences 20000
    ray job submit --working-dir . -- python -m jobs.mixing --out s3://bkt/run --preset paper --gpus 8 \\
        --model bert-base-uncased

Writes mixing/ratios, mixing/lengths, mixing/norms, mixing/figures and, with --per-token, mixing/tokens, after Kobayashi
2021. With --corpus, it reads the sources first (jobs.ingest). Sequences are single sentences, or (--pack) consecutive
sentences of a document within a shard, between one [CLS] and one [SEP]. For pre-LN decoders (gpt2), only the stages
attn and attn_res are measured.

What to expect: the job takes 1.3 times the forward pass alone. With `sample` this is 0.34 ms per token on one core
(November 2026, `python -m bench mixing`), so about 3 core-minutes for 20,000 sentences; a worker uses 1.2 GB. For
`sample`, the mean mixing ratio after LayerNorm is between 20 and 33 %, depending on the layer.
"""

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from jobs.ingest import job as ingest
from jobs.stage.command_line import Job, in_run
from jobs.stage.options import SampledPassConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run
    from ops.model.load import ModelFacts
    from ops.model.tokenizer import Tokenizer


class MixingConfig(SampledPassConfig):
    """Options of `mixing`, and the options of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (60, "Attention mixing (mixing)")

    pack: int = Field(
        0,
        ge=0,
        description="Pack consecutive sentences into sequences of at most this many tokens; 0: one sentence each",
    )
    mask_rate: float = Field(0.12, ge=0, le=1, description="Replace this share of the tokens by the mask token")
    per_token: bool = Field(False, description="Also write the ratios of every token (mixing/tokens)")


def do(config: MixingConfig, record: "Run") -> None:
    """Run the stage, or the missing part of it, after `ingest` if sources are named."""
    from jobs.mixing.measure import measure, plan
    from jobs.stage.checks import check_pass
    from jobs.stage.corpus_pass import run_pass

    facts, tokenizer = check_pass(config, record)
    check(config, facts, tokenizer)
    ingest.do_where_named(config, record)
    depends_on = {"pack": config.pack, "mask_rate": config.mask_rate, "per_token": config.per_token}
    run_pass("mixing", config, record, facts, tokenizer, depends_on, partial(measure, config), partial(plan, config))


def check(config: MixingConfig, facts: "ModelFacts", tokenizer: "Tokenizer") -> None:
    """Refuse invalid options before anything heavy starts.

    Raises:
        InputError: the architecture is unknown, the arithmetic is too coarse, the model has no mask token, or sequences
            would exceed the model's length limit.
    """
    from ops.errors import InputError
    from ops.model.architectures import check_architecture
    from ops.model.numerics import check_exact_enough

    check_architecture(facts.model_type, facts.name)
    check_exact_enough(config.dtype, "mixing")
    if config.mask_rate and tokenizer.mask_id is None:
        raise InputError(f"--mask-rate {config.mask_rate}: {config.model} has no mask token; give --mask-rate 0")
    if config.pack > facts.position_limit:
        raise InputError(
            f"--pack {config.pack}: {config.model} takes {facts.position_limit} tokens at most; give a smaller number"
        )


JOB = Job("mixing", MixingConfig, in_run(do), __doc__)
