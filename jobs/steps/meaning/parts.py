"""The parts of `meaning`: which are to be done, and what they need."""

import sys

from jobs.stage.checks import check_column, check_ingest_options, check_pass, check_sources
from jobs.stage.meaning_config import MeaningConfig
from jobs.stage.run import Run
from ops.errors import InputError, visible
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.schema import meta_keys
from ops.storage.tables import part_name

PARTS = ("counts", "offsets", "confusion", "sentences", "hashing")
OF_PLACES = ("offsets", "confusion")  # in the text, which the tokenizer must tell


def chosen_parts(text: str) -> tuple[str, ...]:
    """Return the parts that `--parts` names, or all, in their order.

    Raises:
        InputError: there is no such part.
    """
    given = [part.strip() for part in text.split(",")] if text else list(PARTS)
    for part in given:
        if part not in PARTS:
            raise InputError(f"--parts {text}: there is no part {part!r}; name some of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in given)


def check_parts(
    config: MeaningConfig, record: Run, parts: tuple[str, ...], named: bool
) -> tuple[tuple[str, ...], tuple[ModelFacts, Tokenizer] | None]:
    """Check options, sources and model before anything heavy starts; return the parts, and the model if one reads it.

    Args:
        config, record: the options and the run.
        parts: those to do.
        named: whether the user named them; else a part that the model has no data for is left out, with a line.

    Raises:
        InputError: something is missing or does not fit.
    """
    if parts == ("counts",):
        check_ingest_options(config)
        if config.corpus:
            check_sources(config)
        else:
            record.require("ingest")
        return parts, None
    facts, tokenizer = check_pass(config, record)
    check_layer(config.hash_layer, facts)
    if "offsets" in parts and "counts" not in parts and not record.complete("meaning/counts"):
        raise InputError("--parts: offsets compares the words that were counted; give --parts counts,offsets")
    if not tokenizer.has_spans and set(OF_PLACES) & set(parts):
        why = f"the tokenizer of {config.model} does not say where in the text its tokens stand"
        rest = [part for part in parts if part not in OF_PLACES]
        if named:
            raise InputError(f"--parts {','.join(parts)}: {why}; give --parts {','.join(rest or ['counts'])}")
        say(f"{' and '.join(OF_PLACES)} are left out: {why}")
        parts = tuple(rest)
    return parts, (facts, tokenizer)


def check_layer(layer: int | None, facts: ModelFacts) -> int:
    """Return the layer that is read, the last one if none is named.

    Raises:
        InputError: the model has no such layer.
    """
    if layer is not None and layer > facts.layers:
        raise InputError(f"--hash-layer {layer}: {facts.name} has {facts.layers} layers; name one of them")
    return layer or facts.layers


def language_column(record: Run, column: str | None, translation: str | None) -> str | None:
    """Return the column that names a sentence's language: the one given, or `language` where the corpus has it.

    Raises:
        InputError: a column is given that the corpus does not have.
    """
    check_column(record, "--language-column", column)
    check_column(record, "--translation-column", translation)
    if column is not None or not record.has_corpus:
        return column
    with record.store.parquet(part_name("corpus", 0)) as file:
        return "language" if "language" in meta_keys(file.schema_arrow) else None


def say(text: str) -> None:
    """Print one line on standard error."""
    print(f"meaning: {visible(text)}", file=sys.stderr)
