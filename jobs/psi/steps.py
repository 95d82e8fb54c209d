"""The job `psi`: it measures the word embeddings of a model, and then the corpus, if there is one."""

import sys

from torch import nn

from jobs.ingest.steps import ingest_where_named
from jobs.psi.contextual import draw_figure, measure_corpus
from jobs.psi.job import PsiConfig
from jobs.psi.vocabulary import measure_vocabulary
from jobs.run_folder.run import Run
from jobs.stage.checks import check_ingest_options, check_pass, require_corpus
from ops.errors import InputError
from ops.model.attention_modules import check_architecture, head_projections, word_embeddings
from ops.model.load import ModelFacts, load_model, read_facts
from ops.model.numerics import check_exact_enough
from ops.model.tokenizer import Tokenizer


def psi(config: PsiConfig, run: Run) -> None:
    """Measure the word embeddings and the corpus, if there is one; work that is already done is skipped."""
    has_corpus = not config.static_only and (bool(config.corpus) or run.complete("ingest"))
    facts, tokenizer, model = prepare(config, run, has_corpus)
    measure_vocabulary(config, run, facts, tokenizer, model)
    if not has_corpus:
        why = "--static-only" if config.static_only else "there is no corpus/ and no --corpus"
        print(f"psi: {why}: only the word embeddings were measured; psi/contextual is skipped", file=sys.stderr)
        return
    ingest_where_named(config, run)
    measure_corpus(config, run, facts, tokenizer)
    if not config.dry_run:
        draw_figure(run, facts)


def prepare(config: PsiConfig, run: Run, has_corpus: bool) -> tuple[ModelFacts, Tokenizer, nn.Module]:
    """Check options, sources and model, and return the model's facts, its tokenizer and the model.

    Raises:
        InputError: an input is missing or invalid.
    """
    for option in ("corpus", "sentences"):
        if config.static_only and getattr(config, option):
            raise InputError(f"--static-only with --{option}: no corpus is read; leave one of the two out")
    if has_corpus:
        facts, tokenizer = check_pass(config, run)
        if not config.corpus:
            require_corpus(config, tokenizer, run)
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
