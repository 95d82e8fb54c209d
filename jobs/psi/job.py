"""Measure how much each attention head stretches each token: the norm stretch ratio of Maeda 2024.

    python -m jobs.psi --out runs/psi --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.psi --out s3://bucket/run --preset paper --gpus 8 \\
        --model bert-base-uncased

Writes psi/vocabulary, psi/tokens, psi/clusters and psi/agreement from the word embeddings alone. If there is a corpus
(corpus/, or --corpus), it also writes psi/contextual. Figures are written as PNG, PDF and SVG below psi/figures/. Print
a head with python -m jobs.show --out runs/psi --psi 4:2.

What to expect (packaged model, float32, November 2026): one run of k-means takes 30 s of one core, all values of the
word embeddings take 3 s, and the corpus takes 1.06 times the forward pass alone. 20,000 sentences of 27 tokens took 12
min in total on two cores with ten other busy processes. In addition to the model, a worker of the corpus uses 16 bytes
for each token of the vocabulary, layer, head and value, and an additional two times that during a commit. The driver
uses five times that while it merges. Measured: 140, 300 and 760 MB; twice that for bert-base.
"""

import sys
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from jobs.ingest import job as ingest
from jobs.stage.command_line import Job, in_run
from jobs.stage.options import SampledPassConfig

if TYPE_CHECKING:
    from torch import nn

    from jobs.stage.run import Run
    from ops.model.load import ModelFacts
    from ops.model.tokenizer import Tokenizer


class PsiConfig(SampledPassConfig):
    """Options of `psi`, and the options of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (60, "Attention heads (psi)")

    clusters: int | None = Field(
        None,
        ge=1,
        description="Cluster the vocabulary by k-means (default: in proportion, 1,000 clusters for 30,522 tokens)",
    )
    cluster_seeds: int = Field(
        5, ge=1, le=100, description="Run k-means this many times to measure agreement; the first run is used"
    )
    static_only: bool = Field(False, description="Measure only the word embeddings, and read no corpus")
    group_size: int | None = Field(
        None, ge=1, description="Shards per partial file (default: as many as keep all files below 16 GB)"
    )


def do(config: PsiConfig, record: "Run") -> None:
    """Measure the word embeddings and the corpus, if there is one; work that is already done is skipped."""
    from jobs.psi.contextual import default_group_size, draw_figure, measure_corpus, plan_corpus
    from jobs.psi.vocabulary import vocabulary_stage
    from jobs.stage.corpus_pass import run_pass
    from jobs.stage.runner import run_stage

    contextual = not config.static_only and (bool(config.corpus) or record.complete("ingest"))
    facts, tokenizer, model = prepare(config, record, contextual)
    run_stage(vocabulary_stage(config, facts, tokenizer, model), config, record)
    if not contextual:
        why = "--static-only" if config.static_only else "there is no corpus/ and no --corpus"
        print(f"psi: {why}: only the word embeddings were measured; psi/contextual is skipped", file=sys.stderr)
        return
    ingest.do_where_named(config, record)
    heads = record.require("psi")["counts"]["heads"]
    group = config.group_size or default_group_size(record, facts)
    measure = partial(measure_corpus, heads)
    run_pass("psi/contextual", config, record, facts, tokenizer, {}, measure, plan_corpus, group)
    if not config.dry_run:
        draw_figure(record, facts)


def prepare(config: PsiConfig, record: "Run", contextual: bool) -> "tuple[ModelFacts, Tokenizer, nn.Module]":
    """Check options, sources and model, and return the model's facts, its tokenizer and the model.

    Raises:
        InputError: an input is missing or invalid.
    """
    from jobs.stage.checks import check_ingest_options, check_pass, require_corpus
    from ops.errors import InputError
    from ops.model.architectures import check_architecture
    from ops.model.head_projections import head_projections, word_embeddings
    from ops.model.load import load_model, read_facts
    from ops.model.numerics import check_exact_enough
    from ops.model.tokenizer import Tokenizer

    for option in ("corpus", "sentences"):
        if config.static_only and getattr(config, option):
            raise InputError(f"--static-only with --{option}: no corpus is read; leave one of the two out")
    if contextual:
        facts, tokenizer = check_pass(config, record)
        if not config.corpus:
            require_corpus(config, tokenizer, record)
    else:
        check_ingest_options(config)
        facts = read_facts(config.model, config.model_seed)
        tokenizer = Tokenizer(facts)
    check_architecture(facts.model_type, facts.name)
    check_exact_enough(config.dtype, "psi")
    model = load_model(facts, "cpu", "float32")
    if not any(bool(layer.weight.any()) for layer in head_projections(model, facts)):
        raise InputError(f"--model {config.model}: its heads' matrices are all zero; give other weights")
    words = word_embeddings(model, facts)
    vocabulary = len(words)
    if not bool(words.any()):
        raise InputError(f"--model {config.model}: its word embeddings are all zero; give other weights")
    if config.clusters is not None and config.clusters > vocabulary:
        raise InputError(
            f"--clusters {config.clusters}: {config.model} has a vocabulary of {vocabulary} tokens; give fewer clusters"
        )
    return facts, tokenizer, model


JOB = Job("psi", PsiConfig, in_run(do), __doc__)
