"""The part `sentences` of `meaning`, which draws sentences, runs the model on them in blocks and compares them."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from jobs.engine.item import Item
from jobs.meaning.job import MeaningConfig, say
from jobs.stage.corpus_pass import CorpusPass, PassArgs, run_pass
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import PassEstimate, spread_seconds
from jobs.stage.files import partial_file, read_partial, read_partials, shard_file, write_partial
from jobs.stage.run import Run
from jobs.stage.runner import Step
from ops import schema
from ops.errors import InputError, counted
from ops.meaning.drawn_sentences import (
    COLUMNS,
    MASKED,
    PAIR,
    TRANSLATION,
    Wanted,
    choose_sentences,
    draw_from_shard,
)  # fmt: skip
from ops.meaning.next_sentences import OTHER, SAME, best_layer, find_pairs
from ops.meaning.sentence_blocks import (
    masked_word_rows,
    pair_rows,
    read_masked,
    read_pairs,
    read_states,
    translated_rows,
)  # fmt: skip
from ops.meaning.sentence_figures import draw_sentences
from ops.meaning.sentence_states import SentenceReader
from ops.model.heads import MASKED_WORD, NEXT_SENTENCE, heads_of, load_head
from ops.model.load import ModelFacts
from ops.model.tokenizer import PlacedTokens, Tokenizer
from ops.schema import meta_keys
from ops.sentences.pipeline import Annotator
from ops.sentences.token_words import words_of_tokens
from ops.sentences.word_spans import word_spans
from ops.shards import spans
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.storage.tables import part_name, write_part

SENTENCES = "meaning/sentences"
MASKED_WORDS, TRANSLATIONS = "meaning/masked_words", "meaning/translations"
CHOSEN = partial_file(SENTENCES, "chosen")
ROWS_PER_BLOCK = 200  # number of chosen sentences in one item
NO_TAG = "none"
PAIR_BYTES, TEXT_BYTES, FIGURES_BYTES = 200, 120, 200_000


@dataclass(frozen=True)
class SentenceArgs(PassArgs):
    """The arguments of every worker.

    Attributes:
        wanted: the number of sentences of each kind to draw.
        mask_rate: the share of a sentence's tokens that are masked.
        heads: the names of the model's own heads that its weights include.
        shards: the number of shards of the corpus.
    """

    wanted: Wanted
    mask_rate: float
    heads: tuple[str, ...]
    shards: int


def follow(config: MeaningConfig, record: Run, facts: ModelFacts, tokenizer: Tokenizer) -> None:
    """Run the part: write meaning/sentences, meaning/masked_words, meaning/translations and their figures."""
    language = language_column(config, record)
    names = ("sentence_pairs", "masked_sentences", "mask_rate", "translation_column", "translations")
    depends_on = {"language_column": language, **{name: getattr(config, name) for name in names}}
    do, describe = partial(read_all, config, tokenizer, language), partial(plan, config, language)
    run_pass(SENTENCES, config, record, facts, tokenizer, depends_on, do, describe)


def language_column(config: MeaningConfig, record: Run) -> str | None:
    """Return the column that names a sentence's language: the given column, or `language` if the corpus has it."""
    if config.language_column is not None or not record.has_corpus:
        return config.language_column
    with record.store.parquet(part_name("corpus", 0)) as file:
        return "language" if "language" in meta_keys(file.schema_arrow) else None


def sentence_args(config: MeaningConfig, language: str | None, job: CorpusPass) -> SentenceArgs:
    """Return the arguments of the workers; the heads are those found in the model's weights."""
    heads = heads_of(job.args.facts)
    wanted = Wanted(
        pairs=config.sentence_pairs,
        masked=config.masked_sentences if MASKED_WORD in heads else 0,
        translations=config.translations,
        language=language,
        translation=config.translation_column,
        sentences=job.shards.sentences,
        seed=config.seed,
    )
    return SentenceArgs(
        **vars(job.args), wanted=wanted, mask_rate=config.mask_rate, heads=heads, shards=len(job.shards)
    )


def draw_step(job: CorpusPass, args: SentenceArgs) -> Step:
    """Return the step that draws sentences from every shard."""
    items = [{"shard": i, "span": job.shards.span(i)} for i in range(args.shards)]
    return Step(
        "meaning: draw", items, lambda item: [shard_file(SENTENCES, item["shard"])], SentenceDrawer, {"args": args},
        "shards", ("sentences", args.wanted.sentences),
    )  # fmt: skip


class SentenceDrawer:
    """Draws sentences from shards."""

    def __init__(self, args: SentenceArgs) -> None:
        self.args = args

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Draw from one shard and commit the sentences."""
        args, shard = self.args, item["shard"]
        meta = ["meta"] if args.wanted.language else []
        with args.store.parquet(part_name("corpus", shard)) as file:
            table = file.read(columns=[*COLUMNS, *meta])
        drawn = draw_from_shard(table, args.wanted)
        write_partial(args.store, shard_file(SENTENCES, shard), drawn, args.fingerprint)
        return {"sentences": table.num_rows}


def chosen_sentences(args: SentenceArgs) -> pa.Table:
    """Return the sentences to read, and choose them from the drawn sentences of all shards if not yet chosen."""
    if not CHOSEN.is_whole(args.store, args.fingerprint):
        drawn = read_partials(
            args.store, [shard_file(SENTENCES, i) for i in range(args.shards)], at_once=LARGE_FILES_AT_ONCE
        )
        write_partial(args.store, CHOSEN, choose_sentences(drawn, args.wanted), args.fingerprint)
    return read_partial(args.store, CHOSEN)


def read_step(job: CorpusPass, args: SentenceArgs, chosen: pa.Table) -> Step:
    """Return the step in which the model reads the chosen sentences."""
    kinds = chosen["kind"].to_pylist()
    items: list[Item] = []
    for kind in (PAIR, MASKED, TRANSLATION):
        first = kinds.index(kind) if kind in kinds else 0
        for start, stop in spans(kinds.count(kind), ROWS_PER_BLOCK):
            items.append({"block": len(items), "kind": kind, "span": (first + start, first + stop)})
    place = job.placement
    return Step(
        "meaning: sentences", items, lambda item: [partial_file(SENTENCES, "block", item["block"])], BlockReader,
        {"args": args}, "blocks", ("sentences", len(kinds)), holds=place.holds, workers=place.workers, actors=True,
    )  # fmt: skip


def sentence_reader(args: PassArgs, tokenizer: Tokenizer) -> SentenceReader:
    """Return a reader that computes the model's states of sentences."""
    return SentenceReader(args.facts, tokenizer, args.device, args.dtype, args.threads, args.token_budget)


class BlockReader:
    """Runs the model on blocks of the chosen sentences; heads and tagger are loaded when they are needed."""

    def __init__(self, args: SentenceArgs) -> None:
        self.args = args
        self.tokenizer = Tokenizer(args.facts)
        self.reader = sentence_reader(args, self.tokenizer)
        self._heads: dict[str, torch.nn.Module] = {}
        self._annotator: Annotator | None = None

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read one block and commit the results."""
        args, kind, (first, stop) = self.args, item["kind"], item["span"]
        rows = read_partial(args.store, CHOSEN).slice(first, stop - first)
        texts = rows["texts"].to_pylist()
        alone = [own[0] or "" for own in texts]
        if kind == PAIR:
            columns = read_pairs(self.reader, self._next_head(), texts)
        elif kind == MASKED:
            columns = read_masked(
                self._head(MASKED_WORD), self.tokenizer, alone, rows["sent_id"].to_pylist(), args.mask_rate, args.seed,
                args.token_budget, self._tags, self.reader.lengths,
            )  # fmt: skip
        else:
            columns = read_states(self.reader, alone)
        write_partial(args.store, partial_file(SENTENCES, "block", item["block"]), pa.table(columns), args.fingerprint)
        return {"sentences": stop - first}

    def _tags(self, texts: list[str], placed: list[PlacedTokens]) -> list[list[str]]:
        """Return the tag of the word that each token belongs to, from the included English pipeline."""
        if self._annotator is None:
            self._annotator = Annotator("english")
        found = []
        for text, own, annotation in zip(texts, placed, self._annotator.annotate(texts), strict=True):
            words = words_of_tokens(own.spans, word_spans(text, annotation.words))
            tags = annotation.tags or []
            found.append([tags[word] if 0 <= word < len(tags) else NO_TAG for word in words.tolist()])
        return found

    def _next_head(self) -> torch.nn.Module | None:
        return self._head(NEXT_SENTENCE) if NEXT_SENTENCE in self.args.heads else None

    def _head(self, name: str) -> torch.nn.Module:
        if name not in self._heads:
            model = load_head(self.args.facts, name, self.args.device, self.args.dtype)
            if model is None:
                raise RuntimeError(f"meaning: the model's weights have no head for {name}")
            self._heads[name] = model
        return self._heads[name]


def read_all(config: MeaningConfig, tokenizer: Tokenizer, language: str | None, job: CorpusPass) -> dict[str, Any]:
    """Do the missing items of the steps, write the tables and the figures, and return the counts.

    Raises:
        InputError: no state is finite, or the user named the part and the corpus has no data for it.
    """
    args = sentence_args(config, language, job)
    job.stage.do(draw_step(job, args))
    chosen = chosen_sentences(args)
    step = read_step(job, args, chosen)
    job.stage.do(step)
    if config.parts and not chosen.num_rows:
        raise InputError(
            "--parts sentences: no document of the corpus has three sentences, two of them consecutive; sources "
            "with a column doc_id have, and files of text; leave the part out"
        )
    facts, has_head = args.facts, NEXT_SENTENCE in args.heads
    pairs, translations = (chosen.filter(pc.equal(chosen["kind"], kind)) for kind in (PAIR, TRANSLATION))
    found = {kind: _blocks(args, step, kind) for kind in (PAIR, MASKED, TRANSLATION)}
    rows, lost = pair_rows(found[PAIR], pairs["document"].to_pylist(), facts.layers, has_head, args.seed)
    if pairs.num_rows and lost == pairs.num_rows:
        raise InputError("--model: gave no finite state for any sentence; try --dtype float32, or another model")
    drawn = chosen["texts"].to_pylist()
    texts = [text for own in drawn for text in own[:1]]
    masked = found[MASKED]
    words = masked_word_rows(masked, texts, tokenizer, facts.vocabulary)
    keys, languages = (translations[column].to_pylist() for column in ("document", "language"))
    near = translated_rows(found[TRANSLATION], keys, languages, facts.layers, args.seed)
    for table, own in ((SENTENCES, rows), (MASKED_WORDS, words), (TRANSLATIONS, near)):
        # A table for which the model or the corpus has no data is not written.
        if own:
            data = schema.table(table, own)
            write_part(args.store, table, 0, data.schema, [data], args.fingerprint)
    missing = {
        "next sentences (too few documents of three sentences, two of them consecutive)": not rows,
        "the model's own next-sentence head (its weights have none)": not has_head,
        "masked words (its weights have no head for them)": not words,
        "translations (no two languages share a key)": not near,
    }
    left_out = [what for what, is_missing in missing.items() if is_missing]
    for what in left_out:
        say(f"skipped: {what}")
    return {
        "sentences": job.shards.sentences, "pairs": pairs.num_rows, "not_finite": lost,
        "without_distant": sum(own[2] is None for own in drawn[: pairs.num_rows]),
        "masked_places": 0 if masked is None else masked.num_rows, "translated": translations.num_rows,
        "scored": chosen.num_rows, "heads": list(args.heads),
        "knows_next_best": {against: best_layer(rows, against) for against in (SAME, OTHER)},
        "left_out": left_out, "figures": draw_sentences(args.store, rows, words, near, facts.title),
    }  # fmt: skip


def _blocks(args: SentenceArgs, step: Step, kind: str) -> pa.Table | None:
    """Return the results of one kind, in the order of the chosen sentences; None if there were no such sentences."""
    outputs = [output for item in step.items if item["kind"] == kind for output in step.outputs(item)]
    tables = [
        table.replace_schema_metadata(None) for table in read_partials(args.store, outputs, at_once=LARGE_FILES_AT_ONCE)
    ]
    return pa.concat_tables(tables) if tables else None


def plan(config: MeaningConfig, language: str | None, job: CorpusPass, record: DryRun) -> Plan:
    """Return what the part would do."""
    args = sentence_args(config, language, job)
    wanted, facts = args.wanted, args.facts
    estimate = PassEstimate(record, job, draw_step(job, args))
    some = estimate.sample
    _, documents = np.unique(np.array([f"{d}\x1f{n}" for d, n in some.documents], object), return_inverse=True)
    # A sample of the sources has no positions in documents, so neighbouring sentences of the sample are used instead.
    found = find_pairs(some.sent_ids, documents.astype(np.int64), np.arange(len(documents)), args.seed)
    pairs = min(round(len(found.first) * wanted.sentences / max(len(documents), 1)), wanted.pairs)
    masked = min(wanted.masked, wanted.sentences)
    read = 4 * pairs + masked
    timed = seconds = None
    if estimate.can_time:
        reader = sentence_reader(args, estimate.tokenizer)
        timed = estimate.time(lambda batches: [reader.read(list(tokens)) for _, tokens in batches])
        blocks = -(-pairs // ROWS_PER_BLOCK) + -(-masked // ROWS_PER_BLOCK)
        seconds = spread_seconds(record, blocks, job.placement.workers, timed.seconds_for(read), actors=True)
    work = [
        estimate.work("look through"),
        f"read about {counted(read, 'sentence')}: {pairs:,} pairs, {masked:,} masked",
    ]
    if language:
        work.append(f"read translations, with languages from {language}")
    partials = pairs * (PAIR_BYTES + 12 * facts.layers + 7 * TEXT_BYTES)
    return Plan(work, seconds, FIGURES_BYTES, partials, estimate.basis(timed), counts={"scored": read})
