"""Find every neuron's most activating sentences in one pass over the corpus.

    python -m jobs.topk --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.topk --out s3://bucket/run --preset paper --gpus 8 \\
        --model bert-base-uncased

Writes topk/, neurons/, activations/ and unscored/, and with --k-per-dataset topk_by_dataset/. With --corpus, it reads
the sources first (jobs.ingest).

What to expect (two cores, float32, November 2026): the job is nearly as fast as the model's forward pass alone, merge
and tables included (`python -m bench end_to_end`, docs/scale.md). For the packaged model this is 190 sentences per
second with AVX2 and 360 with AVX-512. The start takes 11 s.
"""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from jobs.ingest import job as ingest
from jobs.stage.command_line import Job, in_run
from jobs.stage.options import CorpusPassConfig, listed
from ops.model.pooling import Pool
from ops.model.sites import Site

if TYPE_CHECKING:
    from jobs.stage.run import Run
    from ops.dictionaries.description import Description
    from ops.model.load import ModelFacts
    from ops.model.tokenizer import Tokenizer
    from ops.topk.neurons import Neurons


class TopkConfig(CorpusPassConfig):
    """Options of `topk`, and the options of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (30, "Most activating sentences (topk)")

    k: int = Field(100, ge=1, description="Keep this many sentences per neuron and pole")
    k_per_dataset: int = Field(
        0,
        ge=0,
        description="Also keep this many within each data set that has 20 times as many sentences; 0: none",
    )
    poles: Literal["top", "bottom", "both"] = Field(
        "both", description="Keep the highest activations, the lowest, or both"
    )
    site: Site = Field(
        "hidden", description="Read the hidden states, the MLP after its activation function, or the attention output"
    )
    dictionary: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        (),
        description="Score the features of this dictionary, LAYER=PATH or LAYER=rotated:SEED; repeatable",
    )
    feature_block: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="Encode this many features at a time; auto: as many as free memory allows"
    )
    pool: Pool = Field(
        "mean", description="Combine the tokens of a sentence into one value (default: mean; sparse features: max)"
    )
    special_tokens: Literal["include", "exclude"] = Field(
        "include",
        description="Count tokens that the tokenizer adds (default: include; dictionaries of a decoder: exclude)",
    )
    activation_sample: int = Field(
        10_000, ge=0, description="Keep the activations of all neurons for this many sentences"
    )
    no_sharing: bool = Field(
        False, description="Do not share thresholds between workers: same results, larger partial files"
    )
    pilot: int = Field(
        4_096, ge=1, description="Set the edges of the histograms from a pilot of at most this many sentences"
    )


class Prepared(NamedTuple):
    """The checked inputs, known before the pass begins.

    Attributes:
        facts, tokenizer: the model and its tokenizer.
        neurons: the units of each layer.
        dictionaries: the sparse dictionaries whose features are the units, by layer; empty if the units are neurons.
        chosen: options whose defaults depend on the sparse dictionaries.
    """

    facts: "ModelFacts"
    tokenizer: "Tokenizer"
    neurons: "Neurons"
    dictionaries: "tuple[Description, ...]"
    chosen: dict[str, Any]


def do(config: TopkConfig, record: "Run") -> None:
    """Run the stage, or the missing part of it, after `ingest` if sources are named."""
    known = prepare(config, record)
    ingest.do_where_named(config, record)
    do_stage(config, record, known)


def prepare(config: TopkConfig, record: "Run") -> Prepared:
    """Check options, sources, model and dictionaries, cheapest first.

    Raises:
        InputError: an input is missing or invalid.
    """
    from jobs.stage.checks import check_pass
    from jobs.topk.dictionaries import check_options, options_of
    from ops.dictionaries.read import describe_all, parse
    from ops.model.activations import site_widths
    from ops.model.pooling import check_pool
    from ops.topk.neurons import Neurons

    if config.dictionary:
        parse(config.dictionary)
        check_options(config)
    facts, tokenizer = check_pass(config, record)
    if config.dictionary:
        dictionaries = describe_all(config.dictionary, facts)
        neurons = Neurons.of_layers({own.layer: own.features for own in dictionaries})
        return Prepared(facts, tokenizer, neurons, dictionaries, options_of(config, dictionaries, facts.decoder))
    check_pool(config.pool, config.special_tokens, facts, tokenizer.has_cls)
    return Prepared(facts, tokenizer, Neurons(site_widths(facts, config.site)), (), {})


def do_stage(config: TopkConfig, record: "Run", known: Prepared) -> None:
    """Run the stage, or the missing part of it, with the result of `prepare`; the corpus must exist."""
    from jobs.stage.corpus_pass import run_pass
    from jobs.topk.dictionaries import identity_of
    from jobs.topk.tables import find_winners, plan
    from ops.topk.datasets import Datasets

    config = config.model_copy(update=known.chosen)
    names = ("k", "poles", "site", "pool", "special_tokens", "activation_sample", "pilot")
    depends_on = {name: getattr(config, name) for name in names} | identity_of(known.dictionaries)
    if config.k_per_dataset:
        depends_on["k_per_dataset"] = config.k_per_dataset
    datasets = Datasets.chosen(config.k_per_dataset, record.require("ingest")["counts"]["sources"])
    find, planned = partial(find_winners, config, known, datasets), partial(plan, config, known, datasets)
    run_pass("topk", config, record, known.facts, known.tokenizer, depends_on, find, planned, model_of_the_run=True)


JOB = Job("topk", TopkConfig, in_run(do), __doc__)
