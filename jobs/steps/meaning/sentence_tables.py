"""The tables of the sentences of `meaning`, from what the model said of all blocks."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.runner import Step
from jobs.steps.meaning.sentence_blocks import block_file
from jobs.steps.meaning.sentences import MASKED, PAIR, SENTENCES, TRANSLATION, SentenceArgs
from ops.errors import InputError
from ops.meaning.masked_words import band_of, masked_rows
from ops.meaning.next_sentences import HEAD, OTHER, SAME, TOKENS, best_layer, next_rows
from ops.meaning.sentence_figures import draw_sentences
from ops.meaning.sentence_states import own_ids
from ops.meaning.translations import translation_rows
from ops.model.heads import NEXT_SENTENCE
from ops.model.tokenizer import Tokenizer
from ops.schema import schema
from ops.storage.range_file import read_each
from ops.storage.tables import write_part

MASKED_WORDS, TRANSLATIONS = "meaning/masked_words", "meaning/translations"
_TOGETHER = 1_000  # texts that are tokenized at once


def publish(
    job: CorpusPass, args: SentenceArgs, step: Step, chosen: pa.Table, tokenizer: Tokenizer, named: bool
) -> list[str]:
    """Write the tables and the figures, record the counts, and return what there was no data for.

    Args:
        job, args, step: the pass, what its workers were made from, and the step that read the sentences.
        chosen: the sentences.
        tokenizer: the model's.
        named: whether the part was named; then it is an error where the corpus has no data for any of it.

    Raises:
        InputError: that, or not one state is finite.
    """
    pairs = chosen.filter(pc.equal(chosen["kind"], PAIR))
    masked = _blocks(args, step, MASKED)
    translations = chosen.filter(pc.equal(chosen["kind"], TRANSLATION))
    if named and not chosen.num_rows:
        raise InputError(
            "--parts sentences: no document of the corpus has three sentences of which two are consecutive; sources "
            "with a column doc_id have, and files of text; leave the part out"
        )
    rows, lost = _next_sentences(args, step, pairs)
    if pairs.num_rows and lost == pairs.num_rows:
        raise InputError("--model: gave no finite state for any sentence; try --dtype float32, or another model")
    words: list[dict[str, Any]] = []
    if masked is not None and masked.num_rows:
        count = np.zeros(max(args.facts.vocabulary, int(pc.max(masked["token"]).as_py()) + 1), np.int64)
        texts = [text for own in chosen["texts"].to_pylist() for text in own[:1]]
        for first in range(0, len(texts), _TOGETHER):
            for tokens in tokenizer.encode(texts[first : first + _TOGETHER]):
                np.add.at(count, own_ids(tokens), 1)
        bands = band_of(count[masked["token"].to_numpy()], int(count.sum()))
        own = (masked["rank"].to_numpy(), masked["probability"].to_numpy(), masked["tag"].to_pylist(), bands)
        words = masked_rows(*own)
    near = _translations(args, step, translations)
    for table, found in ((SENTENCES, rows), (MASKED_WORDS, words), (TRANSLATIONS, near)):
        # What the model or the corpus has no data for has no table, rather than an empty one.
        if found:
            data = pa.Table.from_pylist(found, schema(table))
            write_part(args.store, table, 0, schema(table), [data], args.fingerprint)
    left_out = []
    if not rows:
        left_out.append("next sentences (too few documents of three sentences, two of them consecutive)")
    if NEXT_SENTENCE not in args.heads:
        left_out.append("the model's own next-sentence head (its weights have none)")
    if not words:
        left_out.append("masked words (its weights have no head for them)")
    if not near:
        left_out.append("translations (no two languages with sentences of one key)")
    job.stage.finish(
        {
            "sentences": args.sentences, "pairs": pairs.num_rows, "not_finite": lost,
            "masked_places": 0 if masked is None else masked.num_rows, "translated": translations.num_rows,
            "scored": pairs.num_rows + sum(k != PAIR for k in chosen["kind"].to_pylist()), "heads": list(args.heads),
            "knows_next_best": {against: best_layer(rows, against) for against in (SAME, OTHER)},
            "left_out": left_out, "figures": draw_sentences(args.store, rows, words, near, args.facts.title),
        }
    )  # fmt: skip
    return left_out


def _next_sentences(args: SentenceArgs, step: Step, pairs: pa.Table) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of `meaning/sentences`, and how many pairs were left out for a state that is not finite."""
    table = _blocks(args, step, PAIR)
    if table is None:
        return [], 0
    near = _matrix(table["cosine"], (pairs.num_rows, 3, args.facts.layers))
    scores = {TOKENS: _matrix(table["tokens"], (pairs.num_rows, 3))}
    scores |= {f"layer:{layer + 1}": near[:, :, layer] for layer in range(args.facts.layers)}
    if NEXT_SENTENCE in args.heads:
        scores[HEAD] = _matrix(table["head"], (pairs.num_rows, 3))
    good = np.isfinite(near[:, :2]).all((1, 2))
    kept = {space: own[good] for space, own in scores.items()}
    documents = [d for d, fine in zip(pairs["document"].to_pylist(), good, strict=True) if fine]
    return next_rows(kept, documents, args.seed), int((~good).sum())


def _translations(args: SentenceArgs, step: Step, rows: pa.Table) -> list[dict[str, Any]]:
    table = _blocks(args, step, TRANSLATION)
    if table is None:
        return []
    states = _matrix(table["state"], (rows.num_rows, args.facts.layers, args.facts.width))
    good = np.isfinite(states).all((1, 2))
    keys, languages = (
        [value for value, fine in zip(rows[column].to_pylist(), good, strict=True) if fine]
        for column in ("document", "language")
    )
    return translation_rows(lambda layer: states[good, layer - 1], args.facts.layers, keys, languages, args.seed)


def _blocks(args: SentenceArgs, step: Step, kind: str) -> pa.Table | None:
    """Return what was found of one kind, in the order of the chosen sentences; None where there was none to read."""
    names = (block_file(item).path for item in step.items if item["kind"] == kind)
    tables = [table.replace_schema_metadata(None) for table in read_each(args.store, names)]
    return pa.concat_tables(tables) if tables else None


def _matrix(column: pa.ChunkedArray, shape: tuple[int, ...]) -> np.ndarray:
    return np.concatenate([chunk.flatten().to_numpy() for chunk in column.chunks]).reshape(shape)
