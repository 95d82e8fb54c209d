"""The part `sentences` of `meaning`, which draws sentences, runs the model on them in blocks and compares them."""

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine.item import Item
from jobs.meaning.job import MeaningConfig
from jobs.run_folder.run import Run
from jobs.stage.corpus_pass import CorpusPass, PassArgs, begin_pass
from jobs.stage.costs import PASSES
from jobs.stage.outputs import Output, file_of, partial_file, read_partial, read_partials
from jobs.stage.step import Step, Steps
from ops import schema
from ops.arrays import Arrays
from ops.errors import InputError, counted
from ops.figures.files import save_figures
from ops.meaning.drawn_sentences import COLUMNS, MASKED, PAIR, TRANSLATION, Wanted, choose_sentences, draw_from_shard
from ops.meaning.figures import sentence_figures
from ops.meaning.readers import SentenceReader
from ops.meaning.sentence_tasks import LEAST, masked_word_rows, next_rows, read_masked, read_pairs, translation_rows
from ops.model.heads import MASKED_WORD, NEXT_SENTENCE, heads_of, load_head
from ops.model.load import ModelFacts
from ops.model.tokenizer import PlacedTokens, Tokenizer
from ops.schema import meta_keys
from ops.sentences.pipeline import Annotator
from ops.sentences.word_spans import word_spans, words_of_tokens
from ops.shards import spans
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.storage.store import Store
from ops.storage.tables import part_name

SENTENCES = "meaning/sentences"
MASKED_WORDS, TRANSLATIONS = "meaning/masked_words", "meaning/translations"
CHOSEN = partial_file(SENTENCES, "chosen")
ROWS_PER_BLOCK = 200  # number of chosen sentences in one item
READ_OF_A_PAIR = 4  # sentences: a sentence, the next one, a distant one, and one of another document
NO_TAG = "none"


@dataclass(frozen=True, kw_only=True)
class SentenceArgs(PassArgs):
    """The arguments of every worker; `heads` are the model's own heads that its weights include."""

    wanted: Wanted
    mask_rate: float
    heads: tuple[str, ...]


def follow(config: MeaningConfig, run: Run, facts: ModelFacts, tokenizer: Tokenizer) -> None:
    """Run the part: write meaning/sentences, meaning/masked_words, meaning/translations and their figures."""
    language = language_column(config, run)
    names = {"sentence_pairs", "masked_sentences", "mask_rate", "translation_column", "translations"}
    depends_on = config.model_dump(include=names) | {"language_column": language}
    job = begin_pass(SENTENCES, config, run, facts, tokenizer, depends_on)
    if job is None:
        return
    heads = heads_of(facts)
    wanted = Wanted(
        pairs=config.sentence_pairs, masked=config.masked_sentences if MASKED_WORD in heads else 0,
        translations=config.translations, language=language, translation=config.translation_column,
        sentences=job.sentences, seed=config.seed,
    )  # fmt: skip
    args = SentenceArgs(**vars(job.args), wanted=wanted, mask_rate=config.mask_rate, heads=heads)
    read = READ_OF_A_PAIR * min(wanted.pairs, job.sentences) + min(wanted.masked, job.sentences)
    notes = [f"then the model reads at most {counted(read, 'sentence')}"]
    steps = sentence_steps(args, bool(config.parts), read, job)
    job.stage.complete(steps, counts={"scored": read}, notes=notes)


def language_column(config: MeaningConfig, run: Run) -> str | None:
    """Return the column that names a sentence's language: the given column, or `language` if the corpus has it."""
    if config.language_column is not None or run.is_expected("ingest"):
        return config.language_column
    with run.store.parquet(part_name("corpus", 0)) as file:
        return "language" if "language" in meta_keys(file.schema_arrow) else None


def sentence_steps(args: SentenceArgs, is_named: bool, at_most: int, job: CorpusPass) -> Steps:
    """Yield the steps, write the tables and the figures, and return the counts.

    Raises:
        InputError: no state is finite, or the user named the part and the corpus has no data for it.
    """
    # The time of the draw is that of reading the sentences, which are not known before they are drawn.
    estimate, store = partial(job.seconds, passes=PASSES[SENTENCES] / job.sentences * at_most), args.store
    drawing = job.shard_step(
        draw, {"args": args}, name="meaning: draw", holds={}, workers=None, actors=False, estimate=estimate
    )
    choosing = Step(
        name="meaning: choice", items=[{}], outputs=lambda _: [CHOSEN], worker=choose, here=True,
        args={"args": args, "files": job.partials},
    )  # fmt: skip
    yield [drawing, choosing]
    chosen = read_partial(store, CHOSEN)
    reading = Step(
        name="meaning: sentences", items=blocks_of(chosen["kind"].to_pylist()), worker=BlockReader,
        outputs=file_of(SENTENCES, "results", "block"), args={"args": args}, unit="blocks",
        work=("sentences", chosen.num_rows), estimate=estimate, **job.placement.spread,
    )  # fmt: skip
    yield [reading]
    if is_named and not chosen.num_rows:
        raise InputError(
            "--parts sentences: no document of the corpus has three sentences, two of them consecutive; sources "
            "with a column doc_id have, and files of text; leave the part out"
        )
    facts, drawn = args.facts, chosen["texts"].to_pylist()
    pairs, translations = (chosen.filter(pc.equal(chosen["kind"], kind)) for kind in (PAIR, TRANSLATION))
    read = {kind: read_blocks(store, reading, kind) for kind in (PAIR, MASKED, TRANSLATION)}
    rows, not_finite = next_rows(read[PAIR], pairs["document"].to_pylist(), args.seed) if read[PAIR] else ([], 0)
    if pairs.num_rows and not_finite == pairs.num_rows:
        raise InputError("--model: gave no finite state for any sentence; try --dtype float32, or another model")
    document_of = dict(zip(chosen["sent_id"].to_pylist(), chosen["document"].to_pylist(), strict=True))
    alone = [texts[0] for texts in drawn if texts]
    words = masked_word_rows(read[MASKED], document_of, alone, facts) if read[MASKED] else []
    keys, languages, documents = (translations[column].to_pylist() for column in ("key", "language", "document"))
    states = read[TRANSLATION].get("state")
    near = [] if states is None else translation_rows(states, keys, languages, documents, args.seed)
    for name, table_rows in ((SENTENCES, rows), (MASKED_WORDS, words), (TRANSLATIONS, near)):
        # A table for which the model or the corpus has no data is not written.
        if table_rows:
            job.stage.write(name, schema.table(name, table_rows))
    missing = {
        "next sentences (too few documents of three sentences, two of them consecutive)": not rows,
        "the model's own next-sentence head (its weights have none)": NEXT_SENTENCE not in args.heads,
        "masked words (its weights have no head for them)": not words,
        f"translations (no two languages share {LEAST} of the drawn keys; --translations draws more)": not near,
    }
    left_out = [what for what, is_missing in missing.items() if is_missing]
    for what in left_out:
        job.stage.say(f"skipped: {what}")
    figures = save_figures(store, "meaning/sentences_figures", sentence_figures(rows, words, near), facts.title)
    return {
        "sentences": job.sentences, "pairs": pairs.num_rows, "not_finite": not_finite,
        "without_distant": sum(texts[2] is None for texts in drawn[: pairs.num_rows]),
        "masked_places": len(read[MASKED].get("rank", ())), "translated": translations.num_rows,
        "scored": chosen.num_rows, "heads": list(args.heads), "left_out": left_out, "figures": figures,
    }  # fmt: skip


def draw(item: Item, args: SentenceArgs) -> pa.Table:
    """Draw sentences from one shard."""
    (part,) = item["parts"]
    meta = ["meta"] if args.wanted.language else []
    with args.store.parquet(part_name("corpus", part)) as file:
        table = file.read(columns=[*COLUMNS, *meta])
    return draw_from_shard(table, args.wanted)


def choose(item: Item, args: SentenceArgs, files: list[Output]) -> pa.Table:
    """Choose the sentences to read from the drawn sentences in the files of all shards."""
    return choose_sentences(read_partials(args.store, files, at_once=LARGE_FILES_AT_ONCE), args.wanted)


def blocks_of(kinds: list[str]) -> list[Item]:
    """Return blocks of the chosen sentences, each of one kind, as items; `kinds` are the kinds of all of them."""
    items: list[Item] = []
    for kind in (PAIR, MASKED, TRANSLATION):
        first = kinds.index(kind) if kind in kinds else 0
        for start, stop in spans(kinds.count(kind), ROWS_PER_BLOCK):
            span = (first + start, first + stop)
            items.append({"block": len(items), "kind": kind, "span": span, "sentences": stop - start})
    return items


def read_blocks(store: Store, step: Step, kind: str) -> dict[str, Arrays]:
    """Return the results of one kind, in the order of the chosen sentences; none if no sentence is of the kind."""
    files = [file for item, file in zip(step.items, step.files, strict=True) if item["kind"] == kind]
    results = [read_arrays(table) for table in read_partials(store, files, at_once=LARGE_FILES_AT_ONCE)]
    return {name: np.concatenate([block[name] for block in results]) for name in (results[0] if results else ())}


class BlockReader:
    """Runs the model on blocks of the chosen sentences; heads and tagger are loaded when they are needed."""

    def __init__(self, args: SentenceArgs) -> None:
        self.args = args
        self.reader = SentenceReader(args.facts, Tokenizer(args.facts), **args.arithmetic)
        self.head = lru_cache(partial(load_head, args.facts, device=args.device, dtype=args.dtype))
        self.annotator = lru_cache(Annotator)

    def __call__(self, item: Item) -> pa.Table:
        """Read one block."""
        args, kind, (first, stop) = self.args, item["kind"], item["span"]
        rows = read_partial(args.store, CHOSEN).slice(first, stop - first)
        texts = rows["texts"].to_pylist()
        alone = [first_text or "" for first_text, *_ in texts]
        if kind == PAIR:
            results = read_pairs(self.reader, self.head(NEXT_SENTENCE) if NEXT_SENTENCE in args.heads else None, texts)
        elif kind == MASKED:
            ids, head = rows["sent_id"].to_pylist(), self.head(MASKED_WORD)
            assert head is not None
            results = read_masked(self.reader, head, alone, ids, args.mask_rate, args.seed, self._tags)
        else:
            results = {"state": self.reader.read(self.reader.tokenizer.encode(alone))}
        return write_arrays(**results)

    def _tags(self, texts: list[str], placed: list[PlacedTokens]) -> list[list[str]]:
        """Return the tag of the word that each token belongs to, from the included English pipeline."""
        tags_of_texts = []
        for text, tokens, annotation in zip(texts, placed, self.annotator("english").annotate(texts), strict=True):
            words = words_of_tokens(tokens.spans, word_spans(text, annotation.words))
            tags = annotation.tags or []
            tags_of_texts.append([tags[word] if 0 <= word < len(tags) else NO_TAG for word in words.tolist()])
        return tags_of_texts
