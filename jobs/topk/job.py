"""Find every neuron's most activating sentences in one pass over the corpus.

    python -m jobs.topk --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.topk --out s3://bucket/run --preset paper --gpus 8 \\
        --model bert-base-uncased

Writes topk/, neurons/, activations/ and unscored/. With --corpus it reads the sources first (jobs.ingest).

What to expect (two cores, float32, November 2026): nearly the speed of the model's forward pass alone, merge and tables
included (`python -m bench end_to_end`, docs/scale.md), which for the packaged model is 190 sentences a second with AVX2
and 360 with AVX-512; 11 s to start.
"""

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from jobs.ingest import job as ingest
from jobs.stage.command_line import Job, in_run
from jobs.stage.options import CorpusPassConfig
from ops.model.pooling import Pool
from ops.model.sites import Site

if TYPE_CHECKING:
    from jobs.stage.run import Run
    from ops.model.load import ModelFacts
    from ops.model.tokenizer import Tokenizer
    from ops.topk.neurons import Neurons


class TopkConfig(CorpusPassConfig):
    """Options of `topk`, and those of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (30, "topk: the most activating sentences")

    k: int = Field(100, ge=1, description="sentences kept for each neuron and pole")
    poles: Literal["top", "bottom", "both"] = Field("both", description="highest activations, lowest, or both")
    site: Site = Field(
        "hidden", description="hidden states, after the activation function, or after the attention's output matrix"
    )
    pool: Pool = Field("mean", description="how a sentence's tokens become one value")
    special_tokens: Literal["include", "exclude"] = Field(
        "include", description="whether the tokens that the tokenizer added count"
    )
    activation_sample: int = Field(10_000, ge=0, description="sentences whose whole activation vectors are kept")
    no_sharing: bool = Field(False, description="workers do not share thresholds: same results, larger partial files")
    pilot: int = Field(4_096, ge=1, description="most sentences of the pilot that fixes the histograms' edges")


def do(config: TopkConfig, record: "Run") -> None:
    """Do the stage, or what is missing of it; first `ingest` where sources are named."""
    known = prepare(config, record)
    ingest.do_where_named(config, record)
    do_stage(config, record, *known)


def prepare(config: TopkConfig, record: "Run") -> "tuple[ModelFacts, Tokenizer, Neurons]":
    """Check options, sources and model, cheapest first.

    Returns:
        What is known of the model, its tokenizer, and the units of each layer.

    Raises:
        InputError: something is missing or does not fit.
    """
    from jobs.stage.checks import check_pass
    from ops.model.activations import site_widths
    from ops.model.pooling import check_pool
    from ops.topk.neurons import Neurons

    facts, tokenizer = check_pass(config, record)
    check_pool(config.pool, config.special_tokens, config.model, facts.decoder, tokenizer.has_cls)
    return facts, tokenizer, Neurons(site_widths(facts, config.site))


def do_stage(
    config: TopkConfig, record: "Run", facts: "ModelFacts", tokenizer: "Tokenizer", neurons: "Neurons"
) -> None:
    """Do the stage, or what is missing of it, with what `prepare` returned; the corpus is to be there."""
    from jobs.stage.corpus_pass import run_pass
    from jobs.topk.tables import find_winners, plan

    names = ("k", "poles", "site", "pool", "special_tokens", "activation_sample", "pilot")
    depends_on = {name: getattr(config, name) for name in names}
    find, planned = partial(find_winners, config, neurons), partial(plan, config, neurons)
    run_pass("topk", config, record, facts, tokenizer, depends_on, find, planned, model_of_the_run=True)


JOB = Job("topk", TopkConfig, in_run(do), __doc__)
