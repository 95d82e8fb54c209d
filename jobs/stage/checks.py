"""Checks of a job's input before anything heavy starts, cheapest first."""

from typing import Any

from jobs.engine.connect import on_cluster
from jobs.options.configs import INGEST_ONLY, PRESETS, CorpusConfig, CorpusModelConfig, CorpusPassConfig
from jobs.run_folder.again import command
from jobs.run_folder.run import Run, RunReader
from jobs.stage.placement import check_device, on_gpus
from ops.errors import InputError
from ops.model.load import ModelFacts, read_facts
from ops.model.names import RANDOM
from ops.model.numerics import TF32, check_dtype
from ops.model.tokenizer import Tokenizer
from ops.sources.csv import CSV
from ops.sources.pieces import check_source
from ops.sources.source import Source
from ops.sources.spec import READABLE, parse_source
from ops.sources.text import PARAGRAPHS
from ops.topk.neurons import read_neurons
from ops.topk.silent import read_silent


def check_sources(config: CorpusConfig) -> list[Source]:
    """Return the sources after checking each of them.

    Raises:
        InputError: no source is named, a source cannot be read, or an option is for files that are not there.
    """
    if not config.corpus:
        raise InputError(f"--corpus is missing: name {READABLE}")
    sources = [parse_source(spec, config.reading) for spec in config.corpus]
    for flag, is_given, what, kind in (
        ("--paragraphs", config.paragraphs, "is a .txt file", PARAGRAPHS.kind),
        ("--delimiter", config.delimiter, "is a CSV file", CSV.kind),
    ):
        if is_given and kind not in {source.kind for source in sources}:
            raise InputError(f"{flag}: no source {what}; leave the option out")
    for source in sources:
        check_source(source, config.text_column)
    return sources


def check_corpus(config: CorpusModelConfig, run: Run) -> None:
    """Check that the sources, or else a finished corpus, are there."""
    check_ingest_options(config)
    if config.corpus:
        check_sources(config)
    else:
        run.require("ingest")


def check_pass(config: CorpusModelConfig, run: Run) -> tuple[ModelFacts, Tokenizer]:
    """Check options, sources and model, and return the facts of the model and its tokenizer."""
    check_corpus(config, run)
    check_device(config)
    # On a cluster the user may have to choose a device before anything is done.
    if isinstance(config, CorpusPassConfig) and (config.dtype == TF32 or on_cluster()):
        check_dtype(config.dtype, "cuda" if on_gpus(config) else "cpu")
    facts = read_facts(config.model, config.model_seed)
    return facts, Tokenizer(facts)


def recorded_model(topk: dict[str, Any], name: str = "") -> ModelFacts:
    """Return the current facts of the model of a run; the model may have changed since.

    Args:
        name: the current name or place of the model; empty if it has not changed.
    """
    options = topk["config"]
    named = name or options["model"]
    return read_facts(named, options.get("model_seed") if named.startswith(RANDOM) else None)


def model_of_topk(run: RunReader, name: str = "") -> ModelFacts:
    """Return the facts of the model of a run, which must be the model that scored it.

    Args:
        name: the current name or place of the model; empty if it has not changed.

    Raises:
        InputError: the model is not found, or is not the model of the run.
    """
    topk = run.require("topk")
    facts = recorded_model(topk, name)
    if facts.fingerprint != topk["identity"]["model"]:
        scored_by = topk["config"]["model"]
        if name:
            raise InputError(f"--model {name}: is not the model of topk/ ({scored_by}); name that one")
        raise InputError(
            f"--out {run.store.uri}: was made with a model that has changed since ({scored_by}); restore it, or run",
            command(run.store.uri, "topk", topk["config"], redo=True),
        )
    return facts


def check_heard(run: RunReader) -> None:
    """Refuse a run whose units are all silent."""
    if read_silent(run.store, read_neurons(run.store)).all():
        raise InputError(
            f"--out {run.store.uri}: each of its units is silent in this corpus, so there is nothing to measure; give "
            "a run of another --dictionary, --model or --corpus"
        )


def check_ingest_options(config: CorpusModelConfig) -> None:
    """Refuse options of `ingest` if no source is named."""
    preset = PRESETS.get(config.preset or "", {})
    lonely = [n for n in INGEST_ONLY if n in config.model_fields_set and getattr(config, n) != preset.get(n)]
    if lonely and not config.corpus:
        raise InputError(
            f"--{lonely[0].replace('_', '-')}: is an option of ingest; give --corpus with it, or leave it out"
        )


def require_corpus(config: CorpusModelConfig, tokenizer: Tokenizer, run: Run) -> dict[str, Any]:
    """Return the entry of the finished corpus.

    Raises:
        InputError: there is no corpus, or it was made with another tokenizer.
    """
    corpus = run.require("ingest")
    if corpus["identity"]["tokenizer"] != tokenizer.fingerprint:
        raise InputError(
            f"--model {config.model}: its tokenizer is not the one corpus/ was made with "
            f"({corpus['config']['model']}); give that model, or another --out"
        )
    return corpus
