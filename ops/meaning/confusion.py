"""Confusion sets (Banko and Brill 2001), and their examples: the words around a blank and the model's state there."""

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Float32s, Int64s, UInt64s
from ops.errors import InputError
from ops.hashing import mix
from ops.meaning.readers import BlankReader
from ops.meaning.words import fold, word_spans
from ops.sampling import CONFUSION_ORDER

DEFAULT = (
    "to two too, then than, its it's, their there they're, your you're, weather whether, principal principle, "
    "accept except, affect effect, lose loose, peace piece, quiet quite"
)
TEST_SHARE = 0.2  # share of the documents
COLUMNS = ["sent_id", "text", "dataset", "doc_id"]  # of corpus/
Sets = tuple[tuple[str, ...], ...]


def read_sets(text: str) -> list[tuple[str, ...]]:
    """Read confusion sets: words are separated by spaces, and sets by commas.

    Raises:
        InputError: a set has fewer than two words, a word occurs twice, or a word is not a single word.

    >>> read_sets("to two too, then than")
    [('to', 'two', 'too'), ('then', 'than')]
    """
    sets = [tuple(fold(part, "lower").split()) for part in text.split(",")]
    seen: set[str] = set()
    for words in sets:
        if len(words) < 2:
            raise InputError(
                f"--confusion {text}: {' '.join(words)!r} is not a confusion set; give two words or more, as in 'then "
                "than'"
            )
        for word in words:
            if word in seen:
                raise InputError(f"--confusion {text}: {word!r} is in it twice")
            if word_spans(word) != [(0, len(word))]:
                raise InputError(f"--confusion {text}: {word!r} is not one word")
            seen.add(word)
    return sets


def find_occurrences(text: str, places: dict[str, tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Return where the words of confusion sets occur in a sentence, ignoring case: set, label, first character, stop.

    `places` are the index of each word's set, and its label: the index of the word in the set.
    """
    words = [(places.get(fold(text[start:stop], "lower")), start, stop) for start, stop in word_spans(text)]
    return [(*place, start, stop) for place, start, stop in words if place is not None]


def words_around(text: str, start: int, stop: int, window: int) -> list[str]:
    """Return the words on both sides of a blank as features: each word, and the four nearest words with their offsets.

    >>> words_around("He wants to eat now", 9, 11, 2)
    ['He', 'wants', 'eat', 'now', '-2 He', '-1 wants', '+1 eat', '+2 now']
    """
    spans = word_spans(text)
    before = [text[a:b] for a, b in spans if b <= start][-window:]
    after = [text[a:b] for a, b in spans if a >= stop][:window]
    near = [f"-{len(before) - i} {word}" for i, word in enumerate(before) if len(before) - i <= 2]
    return [*before, *after, *near, *(f"+{i + 1} {word}" for i, word in enumerate(after[:2]))]


def priority(sent_id: Int64s, start: Int64s, seed: int) -> UInt64s:
    """Return the seeded priority by which occurrences are ordered, `[occurrences]` uint64."""
    salt = np.random.default_rng([seed, CONFUSION_ORDER]).integers(0, 2**64, dtype=np.uint64)
    return mix(mix(sent_id.astype(np.uint64) ^ salt) + start.astype(np.uint64))


def document_number(dataset: str, doc_id: str, seed: int) -> int:
    """Return 64 bits of a hash of the seed, the dataset and the document's id."""
    digest = hashlib.blake2b(f"{seed}\0{dataset}\0{doc_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest)


def is_tested(documents: UInt64s) -> Bools:
    """Return whether classifiers are tested on documents, given their numbers; one fifth of the documents are."""
    return np.asarray(documents < np.uint64(TEST_SHARE * 2**64))


def find_examples(
    table: pa.Table, sets: Sets, reader: BlankReader, most: int, most_states: int, window: int, seed: int
) -> tuple[pa.Table, dict[str, Any]]:
    """Find the sets' words in a shard, and read the model's states at their positions after blanking them.

    Args:
        table: the shard, with `COLUMNS`.
        most, most_states: the maximum number of a set's examples in the shard, and of its examples with states.
        window: number of words on each side that are features.

    Returns:
        A table with one row for each example that is kept: `set`, `label`, `order`, `document` (the document's number),
        `words`, and `state` (all layers concatenated; null without a state). And a dictionary with the number of
        occurrences `found` for each set, and the number of states that were `not_finite`.
    """
    ids, texts, datasets, documents = (column.to_pylist() for column in table.select(COLUMNS).columns)
    places = {word: (i, j) for i, words in enumerate(sets) for j, word in enumerate(words)}
    occurrences = [(row, *own) for row, text in enumerate(texts) for own in find_occurrences(text, places)]
    row, number, label, start, stop = np.array(occurrences, np.int64).reshape(-1, 5).T
    order = priority(np.array(ids, np.int64)[row], start, seed)
    ranked = np.lexsort((start, order, number))
    rank = np.arange(len(ranked)) - np.searchsorted(number[ranked], number[ranked])  # within its set
    kept, stated = (ranked[rank < limit] for limit in (most, most_states))
    spans = list(zip(start[stated].tolist(), stop[stated].tolist(), strict=True))
    blanks = zip(stated.tolist(), reader.blanks([texts[i] for i in row[stated]], spans), strict=True)
    read = [(k, blank) for k, blank in blanks if blank is not None]
    states = reader.read([blank for _, blank in read]).reshape(len(read), reader.layers * reader.width)
    finite = np.asarray(np.isfinite(states).all(1))
    state_of = {k: state for (k, _), state, is_finite in zip(read, states, finite, strict=True) if is_finite}
    columns = {
        "set": number[kept],
        "label": label[kept],
        "order": order[kept],
        "document": pa.array([document_number(datasets[i], documents[i], seed) for i in row[kept]], pa.uint64()),
        "words": pa.array(
            [words_around(texts[row[k]], start[k], stop[k], window) for k in kept], pa.list_(pa.string())
        ),
        "state": pa.array([state_of.get(k) for k in kept.tolist()], pa.list_(pa.float32())),
    }
    counts = np.bincount(number, minlength=len(sets)).tolist()
    return pa.table(columns), {"found": counts, "not_finite": int((~finite).sum())}


class Examples(NamedTuple):
    """The occurrences of one set, in their seeded order.

    Attributes:
        label: the index of the word in the set, `[occurrences]`.
        words: the features from the surrounding words, one list for each occurrence.
        states: the model's states at the blanks, `[occurrences with states, layers, width]` float32.
        has_state: which occurrences have states, `[occurrences]` bool.
        document: the number of each occurrence's document, `[occurrences]` uint64.
    """

    label: Int64s
    words: list[list[str]]
    states: Float32s
    has_state: Bools
    document: UInt64s


def examples_of(number: int, shards: Iterable[pa.Table], layers: int, width: int) -> Examples:
    """Return the examples of a set in their seeded order, given the tables of `find_examples` by shard."""
    table = pa.concat_tables(table.filter(pc.equal(table["set"], number)) for table in shards).combine_chunks()
    # The shards are in order, so with a stable sort ties stay in the order of the corpus.
    table = table.take(pa.array(np.argsort(table["order"].to_numpy(), kind="stable")))
    states = pc.list_flatten(table["state"]).to_numpy().reshape(-1, layers, width)
    return Examples(
        table["label"].to_numpy(), table["words"].to_pylist(), states, table["state"].is_valid().to_numpy(),
        table["document"].to_numpy(),
    )  # fmt: skip
