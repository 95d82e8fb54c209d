"""The job `meaning`, whose parts are stages of their own."""

import sys

from jobs.ingest.steps import ingest_where_named
from jobs.meaning.confusion import confuse
from jobs.meaning.counts import count
from jobs.meaning.hashing import check_layer, compress, draw_labelled
from jobs.meaning.job import MeaningConfig
from jobs.meaning.offsets import compare
from jobs.meaning.sentences import follow
from jobs.run_folder.run import Run
from jobs.stage.checks import check_corpus, check_pass
from ops.errors import InputError, visible
from ops.meaning.confusion import DEFAULT, read_sets
from ops.meaning.counts import read_context_words
from ops.meaning.offsets import read_analogies
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer

PARTS = ("counts", "offsets", "confusion", "sentences", "hashing")
OF_PLACES = ("offsets", "confusion")  # parts for which the tokenizer must give the positions of tokens in the text


def meaning(config: MeaningConfig, run: Run) -> None:
    """Run the parts, or the missing work of them, after `ingest` if sources are named."""
    parts = chosen_parts(config.parts)
    context_words = read_context_words(config.context_words, config.word_case)
    questions = read_analogies(config.analogies)
    sets = read_sets(config.confusion or DEFAULT)
    parts, model = check_parts(config, run, parts)
    ingest_where_named(config, run, named_columns(config, parts))
    drawn = draw_labelled(config, run) if "hashing" in parts else None
    if "counts" in parts:
        count(config, run, context_words)
    if model is None:
        return
    if "offsets" in parts:
        compare(config, run, *model, questions)
    if "confusion" in parts:
        confuse(config, run, *model, sets)
    if "sentences" in parts:
        follow(config, run, *model)
    if drawn is not None:
        compress(config, run, *model, drawn)


def chosen_parts(text: str) -> tuple[str, ...]:
    """Return the parts that `--parts` names, or all parts, in their order."""
    given = [part.strip() for part in text.split(",")] if text else list(PARTS)
    for part in given:
        if part not in PARTS:
            raise InputError(f"--parts {text}: there is no part {part!r}; name some of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in given)


def check_parts(
    config: MeaningConfig, run: Run, parts: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[ModelFacts, Tokenizer] | None]:
    """Check options, sources and model before anything heavy starts; return the parts, and the model if needed.

    A part without data for the model is an error if the user named the parts; otherwise it is skipped with a message.
    """
    if parts == ("counts",):
        check_corpus(config, run)
        return parts, None
    facts, tokenizer = check_pass(config, run)
    check_layer(config.hash_layer, facts)
    if "offsets" in parts and "counts" not in parts and not run.complete("meaning/counts"):
        raise InputError("--parts: offsets compares the words that were counted; give --parts counts,offsets")
    if not tokenizer.has_spans and set(OF_PLACES) & set(parts):
        why = f"the tokenizer of {config.model} does not give the positions of its tokens in the text"
        rest = [part for part in parts if part not in OF_PLACES]
        if config.parts:
            raise InputError(f"--parts {','.join(parts)}: {why}; give --parts {','.join(rest or ['counts'])}")
        print(f"meaning: {' and '.join(OF_PLACES)} are skipped: {visible(why)}", file=sys.stderr)
        parts = tuple(rest)
    return parts, (facts, tokenizer)


def named_columns(config: MeaningConfig, parts: tuple[str, ...]) -> dict[str, str | None]:
    """Return the metadata columns that the parts read, by the option that names each column."""
    columns: dict[str, str | None] = {}
    if "sentences" in parts:
        columns |= {"--language-column": config.language_column, "--translation-column": config.translation_column}
    if "hashing" in parts and config.label != "dataset":
        columns["--label"] = config.label
    return columns
