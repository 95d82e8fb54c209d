"""The first step of the sentences of `meaning`: which sentences are read, drawn from all shards."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass, PassArgs
from jobs.stage.layout import Output, shard_file
from jobs.stage.meaning_config import MeaningConfig
from jobs.stage.runner import Step
from jobs.stage.stages import STAGES
from ops import sampling
from ops.hashing import text_hash
from ops.meaning.next_sentences import find_pairs, other_documents
from ops.model.heads import MASKED_WORD, heads_of
from ops.storage.store import Store
from ops.storage.tables import part_name

SENTENCES = "meaning/sentences"
COLUMNS = ["sent_id", "text", "dataset", "doc_id", "sent_in_doc"]
PAIR, MASKED, TRANSLATION = "pair", "masked", "translation"
_OVERSAMPLED = 4  # times its share of the sentences is what a shard may give at the most
_DRAWN = pa.schema(
    [
        ("kind", pa.string()), ("order", pa.uint64()), ("sent_id", pa.int64()), ("document", pa.string()),
        ("language", pa.string()), ("texts", pa.list_(pa.string())),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class SentenceArgs(PassArgs):
    """What every worker is made from.

    Attributes:
        pairs, masked, translations: most pairs of sentences, sentences with masked tokens, translated sentences.
        mask_rate: share of a sentence's tokens.
        language, translation: the columns; None without a language, and where translations share document and place.
        heads: those of the model's own heads that its weights have.
        sentences, shards: of the corpus.
    """

    pairs: int
    masked: int
    translations: int
    mask_rate: float
    language: str | None
    translation: str | None
    heads: tuple[str, ...]
    sentences: int
    shards: int


def identity(config: MeaningConfig, language: str | None) -> dict[str, Any]:
    """Return what the sentences depend on besides the corpus and the model."""
    names = ("sentence_pairs", "masked_sentences", "mask_rate", "translation_column", "translations")
    return {"language_column": language, **{name: getattr(config, name) for name in names}}


def sentence_args(job: CorpusPass, config: MeaningConfig, language: str | None) -> SentenceArgs:
    """Return what the workers are made from; the model's heads are looked for in its weights."""
    heads = heads_of(job.args.facts)
    return SentenceArgs(
        **vars(job.args),
        pairs=config.sentence_pairs,
        masked=config.masked_sentences if MASKED_WORD in heads else 0,
        translations=config.translations,
        mask_rate=config.mask_rate,
        language=language,
        translation=config.translation_column,
        heads=heads,
        sentences=job.shards.sentences,
        shards=len(job.shards),
    )


def draw_step(job: CorpusPass, args: SentenceArgs) -> Step:
    """Return the step that draws sentences from every shard."""
    items = [{"shard": i, "span": job.shards.span(i)} for i in range(args.shards)]
    work = ("sentences", args.sentences)
    name, given = "meaning: draw", {"args": args}
    return Step(name, items, lambda item: [shard_file(SENTENCES, item["shard"])], SentenceDrawer, given, "shards", work)


def chosen_file() -> Output:
    """Return the file of the sentences that are read."""
    return Output(f"{STAGES[SENTENCES].partials}/chosen.parquet", "chosen")


class SentenceDrawer:
    """Draws sentences from each shard: pairs in their seeded order, a uniform sample, translations by their key."""

    def __init__(self, args: SentenceArgs) -> None:
        self.args, self.store = args, args.store

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Draw from one shard and commit the sentences."""
        args, number = self.args, item["shard"]
        meta = ["meta"] if args.language else []
        with self.store.parquet(part_name("corpus", number)) as file:
            table = file.read(columns=[*COLUMNS, *meta])
        ids, places = table["sent_id"].to_numpy(), table["sent_in_doc"].to_numpy()
        texts = table["text"].to_pylist()
        pairs = zip(table["dataset"].to_pylist(), table["doc_id"].to_pylist(), strict=True)
        documents = [f"{dataset}\x1f{document}" for dataset, document in pairs]
        _, numbers = np.unique(np.array(documents, object), return_inverse=True)
        rows: list[dict[str, Any]] = []
        found = find_pairs(ids, numbers.astype(np.int64), places, args.seed)
        quota = -(-_OVERSAMPLED * args.pairs * len(ids) // args.sentences)
        for one, after, same, order in zip(*(column[:quota].tolist() for column in found), strict=True):
            three = [texts[one], texts[after], texts[same]]
            rows.append(_row(PAIR, order, ids[one], documents[one], None, three))
        drawn = sampling.draw(args.sentences, args.masked, args.seed, sampling.MASKED_SENTENCES)
        first, stop = item["span"]
        for number_ in drawn[np.searchsorted(drawn, first) : np.searchsorted(drawn, stop)].tolist():
            row = number_ - first
            rows.append(_row(MASKED, row, number_, documents[row], None, [texts[row]]))
        if args.language:
            rows += self._translations(table, texts)
        output = shard_file(SENTENCES, number)
        described = pa.Table.from_pylist(rows, _DRAWN).replace_schema_metadata(
            output.footer(args.fingerprint, len(rows))
        )
        self.store.commit(output.path, lambda path: pq.write_table(described, path, compression="zstd"))
        return {"sentences": len(texts)}

    def _translations(self, table: pa.Table, texts: list[str]) -> Iterator[dict[str, Any]]:
        """Return the sentences of the keys that come first in a seeded order, so that all shards choose the same."""
        args = self.args
        meta = table["meta"].to_pylist()
        if args.translation:
            keys = [row[args.translation] for row in meta]
        else:
            columns = (table["doc_id"].to_pylist(), table["sent_in_doc"].to_pylist())
            keys = [f"{document}\x1f{place}" for document, place in zip(*columns, strict=True)]
        own = [i for i, row in enumerate(meta) if row[args.language] is not None and keys[i] is not None]
        hashes = np.array([text_hash(keys[i]) for i in own], np.uint64)
        order = sampling.priorities(hashes, args.seed, sampling.TRANSLATIONS)
        wanted = set(np.unique(order)[: args.translations].tolist())
        for i, place in zip(own, order.tolist(), strict=True):
            if place in wanted:
                number = int(table["sent_id"][i].as_py())
                yield _row(TRANSLATION, place, number, keys[i], meta[i][args.language], [texts[i]])


def _row(kind: str, order: int, sent_id: int, document: str, language: str | None, texts: list[str]) -> dict[str, Any]:
    return {
        "kind": kind, "order": order, "sent_id": int(sent_id), "document": document, "language": language,
        "texts": texts,
    }  # fmt: skip


def choose_sentences(args: SentenceArgs) -> pa.Table:
    """Return the sentences that are read, from all shards' where they are not chosen yet.

    A pair's row has four texts, the last null where no other document was found: the sentence, the next one, one of
    its document, and one of another.
    """
    store, output = args.store, chosen_file()
    if not output.is_whole(store, args.fingerprint):
        rows: dict[str, list[dict[str, Any]]] = {PAIR: [], MASKED: [], TRANSLATION: []}
        for shard in range(args.shards):
            for row in _read(store, shard_file(SENTENCES, shard).path).to_pylist():
                rows[row["kind"]].append(row)
            for kind, most in ((PAIR, args.pairs), (TRANSLATION, args.translations)):
                rows[kind] = _first(rows[kind], most)
        pairs = rows[PAIR]
        others = other_documents([row["document"] for row in pairs], args.seed).tolist()
        following = [row["texts"][1] for row in pairs]
        for row, other in zip(pairs, others, strict=True):
            row["texts"] = [*row["texts"], following[other] if other >= 0 else None]
        table = pa.Table.from_pylist([row for kind in rows.values() for row in kind], _DRAWN)
        described = table.replace_schema_metadata(output.footer(args.fingerprint, table.num_rows))
        store.commit(output.path, lambda path: pq.write_table(described, path, compression="zstd"))
    return _read(store, output.path)


def _first(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return the rows of the `most` lowest orders; rows of one order stay together."""
    wanted = set(sorted({row["order"] for row in rows})[:most])
    return sorted((row for row in rows if row["order"] in wanted), key=lambda row: (row["order"], row["sent_id"]))


def _read(store: Store, path: str) -> pa.Table:
    with store.parquet(path) as file:
        return file.read()
