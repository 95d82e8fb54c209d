"""What is checked of a job's input before anything heavy starts, cheapest first."""

from typing import Any

from jobs.engine.connect import on_cluster
from jobs.stage.options import INGEST_ONLY, PRESETS, CorpusConfig, CorpusModelConfig, CorpusPassConfig
from jobs.stage.placement import check_device, on_gpus
from jobs.stage.run import Run
from ops.errors import InputError, counted
from ops.model.load import ModelFacts, read_facts
from ops.model.names import RANDOM
from ops.model.numerics import TF32, check_dtype
from ops.model.tokenizer import Tokenizer
from ops.schema import meta_keys
from ops.sources.pieces import check_source, missing_column
from ops.sources.source_format import Source
from ops.sources.spec import READABLE, parse_source
from ops.storage.tables import part_name


def check_sources(config: CorpusConfig) -> list[Source]:
    """Return the sources, each looked into.

    Raises:
        InputError: none is named, or one cannot be read.
    """
    if not config.corpus:
        raise InputError(f"--corpus is missing: name {READABLE}")
    sources = [parse_source(spec) for spec in config.corpus]
    for source in sources:
        check_source(source, config.text_column)
    return sources


def check_source_column(config: CorpusConfig, flag: str, column: str | None) -> None:
    """Refuse a column of metadata that no source can have, as far as its files say before they are read.

    Raises:
        InputError: none can have it.
    """
    if column is None or not config.corpus:
        return
    there = missing_column([parse_source(spec) for spec in config.corpus], column, config.text_column)
    if there is not None:
        raise no_such_column(flag, column, there)


def check_column(record: Run, flag: str, column: str | None) -> None:
    """Refuse a column that corpus/ does not have.

    Raises:
        InputError: it has none of that name, or is not as it was written.
    """
    if column is None or not record.has_corpus:
        return
    record.check_files("ingest", footers=True, only=("corpus",))
    with record.store.parquet(part_name("corpus", 0)) as file:
        keys = meta_keys(file.schema_arrow)
    if column not in keys:
        sentences = counted(record.require("ingest")["counts"]["sentences"], "sentence")
        raise no_such_column(flag, column, keys, f"no such column, or no value in it ({sentences})")


def no_such_column(flag: str, column: str, there: list[str], lacks: str = "no such column") -> InputError:
    """Return the error of a flag that names a column of metadata which the corpus has not, nor will have."""
    beside = f"it has {', '.join(there)}" if there else "its sources have no column other than the text"
    return InputError(f"{flag} {column}: the corpus has {lacks}; {beside}")


def check_pass(config: CorpusModelConfig, record: Run) -> tuple[ModelFacts, Tokenizer]:
    """Check options, sources and model, and return what is known of the model, and its tokenizer.

    Raises:
        InputError: something is missing or does not fit.
    """
    check_ingest_options(config)
    if config.corpus:
        check_sources(config)
    else:
        record.require("ingest")
    check_device(config)
    # On a cluster the user may have to choose, before anything is done.
    if isinstance(config, CorpusPassConfig) and (config.dtype == TF32 or on_cluster()):
        check_dtype(config.dtype, "cuda" if on_gpus(config) else "cpu")
    facts = read_facts(config.model, config.model_seed)
    return facts, Tokenizer(facts)


def recorded_model(topk: dict[str, Any], name: str = "") -> ModelFacts:
    """Return what is known now of the model whose neurons a run has; it may have become another.

    Args:
        topk: the entry of `topk` in run.json.
        name: where the model is now; empty: where it was.

    Raises:
        InputError: it is not there.
    """
    options = topk["config"]
    named = name or options["model"]
    return read_facts(named, options.get("model_seed") if named.startswith(RANDOM) else None)


def check_ingest_options(config: CorpusModelConfig) -> None:
    """Refuse options of `ingest` where no source is named.

    Raises:
        InputError: one was given without --corpus.
    """
    preset = PRESETS.get(config.preset or "", {})
    lonely = [n for n in INGEST_ONLY if n in config.model_fields_set and getattr(config, n) != preset.get(n)]
    if lonely and not config.corpus:
        raise InputError(
            f"--{lonely[0].replace('_', '-')}: is an option of ingest; give --corpus with it, or leave it out"
        )


def require_corpus(config: CorpusModelConfig, tokenizer: Tokenizer, record: Run) -> dict[str, Any]:
    """Return the entry of the finished corpus.

    Raises:
        InputError: it is not there, or was counted by another tokenizer.
    """
    corpus = record.require("ingest")
    if corpus["identity"]["tokenizer"] != tokenizer.fingerprint:
        raise InputError(
            f"--model {config.model}: its tokenizer is not the one corpus/ was made with "
            f"({corpus['config']['model']}); give that model, or another --out"
        )
    return corpus
