"""The parts of `meaning`: which are to be done, and what they need."""

import sys

from jobs.stage.checks import check_ingest_options, check_pass, check_sources
from jobs.stage.config import CorpusPassConfig
from jobs.stage.record import Run
from ops.errors import InputError
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer

PARTS = ("counts", "offsets", "confusion")
OF_THE_MODEL = ("offsets", "confusion")


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
    config: CorpusPassConfig, record: Run, parts: tuple[str, ...], named: bool
) -> tuple[ModelFacts, Tokenizer] | None:
    """Check options, sources and model before anything heavy starts; return the model where a part reads it.

    Args:
        config, record: the options and the run.
        parts: those to do.
        named: whether the user named them; else a part that the model has no data for is left out, with a line.

    Raises:
        InputError: something is missing or does not fit.
    """
    if not set(OF_THE_MODEL) & set(parts):
        check_ingest_options(config)
        if config.corpus:
            check_sources(config)
        else:
            record.require("ingest")
        return None
    facts, tokenizer = check_pass(config, record)
    if "offsets" in parts and "counts" not in parts and not record.complete("meaning/counts"):
        raise InputError("--parts: offsets compares the words that were counted; give --parts counts,offsets")
    if not tokenizer.has_spans:
        why = f"the tokenizer of {config.model} does not say where in the text its tokens stand"
        if named:
            raise InputError(f"--parts {','.join(parts)}: {why}; give --parts counts")
        print(f"meaning: {' and '.join(OF_THE_MODEL)} are left out: {why}", file=sys.stderr)
        return None
    return facts, tokenizer
