"""The draw of the sentences that a model reads: pairs of neighbours, sentences to mask, and translations."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ops import sampling, schema
from ops.arrays import Int64s, UInt64s, begins_group
from ops.hashing import mix, text_hash

COLUMNS = ["sent_id", "text", "dataset", "doc_id", "sent_in_doc"]  # of corpus/, and `meta` if there are languages
PAIR, MASKED, TRANSLATION = "pair", "masked", "translation"
DISTANCE = 3  # minimum difference of position between the first and the distant sentence of its document
_TRIES = 32
_OVERSAMPLED = 4  # a shard contributes at most this many times its share of the sentences
_DRAWN = pa.schema(
    [
        ("kind", pa.string()), ("order", pa.uint64()), ("sent_id", pa.int64()), ("document", pa.string()),
        ("texts", pa.list_(pa.string())), ("language", pa.string()), ("key", pa.string()),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """The description of the sentences to draw.

    Attributes:
        pairs, masked, translations: maximum numbers of pairs, of sentences with masked tokens, and of keys of
            translations.
        language, translation: the columns of the language and of the key that translations share. `language` is None
            if there are no languages, and `translation` is None if translations share document id and position.
    """

    pairs: int
    masked: int
    translations: int
    language: str | None
    translation: str | None
    sentences: int
    seed: int


def draw_from_shard(table: pa.Table, wanted: Wanted) -> pa.Table:
    """Return the sentences drawn from a shard: pairs in seeded order, a uniform sample, and translations by key.

    The shard has `COLUMNS`, and `meta` if a language is requested.

    Returns:
        The columns `kind`, `order` (rows with the lowest values over all shards are chosen), `sent_id`, `document`,
        `texts` and, for a translation, `language` and the `key` that its translations share. A pair's texts are the
        sentence, the next sentence, and a distant sentence of its document, which is null if there is none.
    """
    ids, positions = table["sent_id"].to_numpy(), table["sent_in_doc"].to_numpy()
    texts = table["text"].to_pylist()
    origins = zip(table["dataset"].to_pylist(), table["doc_id"].to_pylist(), strict=True)
    documents = [f"{dataset}\x1f{document}" for dataset, document in origins]
    _, numbers = np.unique(np.array(documents, object), return_inverse=True)
    rows: list[dict[str, Any]] = []
    pairs = find_pairs(ids, numbers.astype(np.int64), positions, wanted.seed)
    quota = -(-_OVERSAMPLED * wanted.pairs * len(ids) // wanted.sentences)
    for one, after, same, order in zip(*(column[:quota].tolist() for column in pairs), strict=True):
        triple = [texts[one], texts[after], texts[same] if same >= 0 else None]
        rows.append(_row(PAIR, order, ids[one], documents[one], triple))
    drawn = sampling.draw(wanted.sentences, wanted.masked, wanted.seed, sampling.MASKED_SENTENCES)
    # A shard's ids are consecutive.
    for number in drawn[np.searchsorted(drawn, ids[0]) : np.searchsorted(drawn, ids[-1], "right")].tolist():
        row = number - int(ids[0])
        rows.append(_row(MASKED, row, number, documents[row], [texts[row]]))
    if wanted.language:
        rows += _translations(table, texts, documents, wanted.language, wanted)
    return schema.table(_DRAWN, rows)


def _translations(
    table: pa.Table, texts: list[str], documents: list[str], language: str, wanted: Wanted
) -> Iterator[dict[str, Any]]:
    """Yield the sentences whose keys come first in a seeded order, so that all shards choose the same keys."""
    meta = table["meta"].to_pylist()
    if wanted.translation:
        keys = [row[wanted.translation] for row in meta]
    else:
        columns = (table["doc_id"].to_pylist(), table["sent_in_doc"].to_pylist())
        keys = [f"{document}\x1f{position}" for document, position in zip(*columns, strict=True)]
    rows = [i for i, row in enumerate(meta) if row[language] is not None and keys[i] is not None]
    hashes = np.array([text_hash(keys[i]) for i in rows], np.uint64)
    order = sampling.priorities(hashes, wanted.seed, sampling.TRANSLATIONS)
    first = set(np.unique(order)[: wanted.translations].tolist())
    for i, priority in zip(rows, order.tolist(), strict=True):
        if priority in first:
            row = _row(TRANSLATION, priority, table["sent_id"][i].as_py(), documents[i], [texts[i]])
            yield row | {"language": meta[i][language], "key": keys[i]}


def _row(kind: str, order: int, sent_id: int, document: str, texts: list[str | None]) -> dict[str, Any]:
    return {"kind": kind, "order": order, "sent_id": int(sent_id), "document": document, "texts": texts}


def find_pairs(
    sent_ids: Int64s, documents: Int64s, positions: Int64s, seed: int
) -> tuple[Int64s, Int64s, Int64s, UInt64s]:
    """Return the pairs of a shard in seeded order: a sentence, the next one, and a distant one of the same document.

    Only documents with at least three sentences in the shard are used. The distant sentence is at least `DISTANCE`
    positions away, because a close neighbour would be nearly as similar as the next sentence.

    Args:
        sent_ids, documents: the ids of the shard's sentences, and the index of each sentence's document, `[rows]`.
        positions: the position of each sentence in its document, `[rows]`; sentences with consecutive positions are
            consecutive.

    Returns:
        The rows of the first, the next and the distant sentences (-1 if there is none), and the pairs' seeded order,
        `[pairs]` each.
    """
    order = np.lexsort((positions, documents))
    document, position = documents[order], positions[order]
    starts = np.flatnonzero(begins_group(document))
    sizes = np.diff(np.append(starts, len(order)))
    start, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    consecutive = np.flatnonzero((document[1:] == document[:-1]) & (position[1:] == position[:-1] + 1))
    at = consecutive[size[consecutive] >= 3]
    priority = sampling.priorities(sent_ids[order[at]].astype(np.uint64), seed, sampling.NEXT_SENTENCES)
    # Document and position as one ascending number, with gaps so large that no distance reaches another document.
    key = document * (int(position.max(initial=0)) + 1 + DISTANCE) + position
    before = np.searchsorted(key, key[at] - DISTANCE, "right") - start[at]
    after = np.searchsorted(key, key[at] + DISTANCE)
    distant = before + start[at] + size[at] - after
    drawn = (mix(priority) % np.maximum(distant, 1).astype(np.uint64)).astype(np.int64)
    row = np.where(drawn < before, start[at] + drawn, after + drawn - before)
    third = np.where(distant > 0, order[np.minimum(row, len(order) - 1)], -1)
    taken = np.argsort(priority, kind="stable")
    return order[at][taken], order[at + 1][taken], third[taken], priority[taken]


def other_documents(documents: list[str], seed: int) -> Int64s:
    """Return for each pair the index of a random pair of a different document, `[pairs]`; -1 if none was found.

    The next sentence of this pair is used as the random sentence of another document, so that both classes contain the
    same kind of sentence.
    """
    n = len(documents)
    if not n:
        return np.zeros(0, np.int64)
    _, number = np.unique(np.array(documents, object), return_inverse=True)
    drawn = np.random.default_rng([seed, sampling.OTHER_SENTENCES]).integers(0, n, (n, _TRIES))
    differs = number[drawn] != number[:, None]
    return np.where(differs.any(1), drawn[np.arange(n), differs.argmax(1)], -1)


def choose_sentences(shards: Iterable[pa.Table], wanted: Wanted) -> pa.Table:
    """Choose the sentences to read among the draws of all shards: pairs, then masked sentences, then translations.

    A pair's row has four texts: the sentence, the next sentence, a distant sentence of its document, and a sentence of
    another document. The last two are null if there is no such sentence.
    """
    rows: dict[str, list[dict[str, Any]]] = {PAIR: [], MASKED: [], TRANSLATION: []}
    for table in shards:
        for row in table.to_pylist():
            rows[row["kind"]].append(row)
        for kind, most in ((PAIR, wanted.pairs), (TRANSLATION, wanted.translations)):
            rows[kind] = _first(rows[kind], most)
    rows[TRANSLATION] = _translated(rows[TRANSLATION])
    pairs = rows[PAIR]
    others = other_documents([row["document"] for row in pairs], wanted.seed).tolist()
    following = [row["texts"][1] for row in pairs]
    for row, other in zip(pairs, others, strict=True):
        row["texts"] = [*row["texts"], following[other] if other >= 0 else None]
    return schema.table(_DRAWN, (row for kind in rows.values() for row in kind))


def _translated(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first sentence of each key and language, for the keys that occur in several languages."""
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        first.setdefault((row["key"], row["language"]), row)
    languages = Counter(key for key, _ in first)
    return [row for (key, _), row in first.items() if languages[key] > 1]


def _first(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return the rows with the `most` lowest values of `order`; all rows with the same value are kept or dropped."""
    lowest = set(sorted({row["order"] for row in rows})[:most])
    return sorted((row for row in rows if row["order"] in lowest), key=lambda row: (row["order"], row["sent_id"]))
