"""Annotated sentences as codes: integers instead of words, tags, labels, dataset names and metadata values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Integers
from ops.penn import read_labels_and_sizes
from ops.schema import meta_keys, schema
from ops.sentences.folds import folds

if TYPE_CHECKING:
    # Mining reads codes too, and its workers start two seconds sooner without spaCy.
    from ops.sentences.pipeline import Annotation

_PLAIN = ("sent_id", "is_baseline", "is_winner", "fold", "wins")
_META = "meta:"
# The separator of a dataset's name and a doc_id: equal doc_ids of two datasets are two documents.
_OF = "\x1f"

# The kinds of names that every corpus has, each with its own codes, and the columns that contain lists of such codes.
NAME_KINDS = ("word", "tag", "label", "dataset")
LISTS = {"words": "word", "tags": "tag", "labels": "label"}

NAMES_SCHEMA = pa.schema([("kind", pa.string()), ("name", pa.string())])


def name_kinds(keys: Iterable[str]) -> list[str]:
    """Return all kinds of names: the kinds that every corpus has, and one kind for the values of each metadata key."""
    return [*NAME_KINDS, *(f"{_META}{key}" for key in sorted(keys))]


def meta_kinds(kinds: Iterable[str]) -> dict[str, str]:
    """Return the kinds that are values of metadata, as a mapping from metadata key to kind."""
    return {kind.removeprefix(_META): kind for kind in kinds if kind.startswith(_META)}


def sentence_table(
    corpus: pa.Table, annotations: list[Annotation], baseline: Bools, wins: Integers, seed: int
) -> pa.Table:
    """Return the rows of `sentences/` for rows of `corpus/`, with the fields of its `meta`.

    Args:
        corpus: the sentences.
        annotations: the annotation of each sentence.
        baseline: which sentences are in the baseline, `[sentences]`.
        wins: number of neurons and poles of which each sentence is a winner, `[sentences]`.
        seed: the seed that divides the documents into folds.
    """
    fields = schema("sentences", meta_keys(corpus.schema))
    documents = document_codes(corpus["dataset"], corpus["doc_id"])
    columns = {name: corpus[name] for name in fields.names if name in corpus.column_names}
    columns |= {
        "words": pa.array([a.words for a in annotations], pa.list_(pa.string())),
        "tags": pa.array([a.tags for a in annotations], pa.list_(pa.string())),
        "tree": pa.array([a.tree for a in annotations], pa.string()),
        "is_baseline": pa.array(baseline, pa.bool_()),
        "is_winner": pa.array(np.asarray(wins) > 0, pa.bool_()),
        "fold": pa.array(folds(documents.to_numpy(), seed)),
        "wins": pa.array(wins, pa.int32()),
    }
    return pa.table({name: columns[name] for name in fields.names}).cast(fields)


def coded(sentences: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return rows of `sentences/` as codes, and the names of these codes.

    A code is the index of a name in the sorted list of these sentences' names of its kind. Trees become labels and
    sizes, without words and punctuation.

    Returns:
        One row for each sentence, with the columns `sent_id`, `is_baseline`, `is_winner`, `fold`, `wins`, `document`
        (int64, see `document_codes`), `dataset` (int32), the lists of int32 `words`, `tags`, `labels` and `sizes`
        (sizes of the subtrees, in preorder), and `meta:KEY` for each metadata key (int32, null if the sentence lacks
        the key). And the names, by `NAMES_SCHEMA`, sorted by kind in the order of `name_kinds` and then by name.

    Raises:
        InputError: a tree is malformed.
    """
    trees = [read_labels_and_sizes(tree) if tree is not None else ([], []) for tree in sentences["tree"].to_pylist()]
    words, tags = (sentences[name].combine_chunks() for name in ("words", "tags"))
    labels = pa.array([labels for labels, _ in trees], pa.list_(pa.string()))
    columns = {name: sentences[name] for name in _PLAIN}
    columns["document"] = document_codes(sentences["dataset"], sentences["doc_id"])
    names: dict[str, pa.Array] = {}
    for column, lists in (("words", words), ("tags", tags), ("labels", labels)):
        codes, names[LISTS[column]] = _encoded(pc.list_flatten(lists))
        columns[column] = pa.ListArray.from_arrays(_offsets(lists), codes)
    columns["sizes"] = pa.array([sizes for _, sizes in trees], pa.list_(pa.int32()))
    columns["dataset"], names["dataset"] = _encoded(sentences["dataset"].combine_chunks())
    keys = sorted(meta_keys(sentences.schema))
    for key in keys:
        columns[f"{_META}{key}"], names[f"{_META}{key}"] = _encoded(sentences["meta"].combine_chunks().field(key))
    ordered = [(kind, names[kind]) for kind in name_kinds(keys)]
    kinds = [kind for kind, array in ordered for _ in range(len(array))]
    every = pa.concat_arrays([pa.array([], pa.string()), *(array for _, array in ordered)])
    return pa.table(columns), pa.table([pa.array(kinds, pa.string()), every], schema=NAMES_SCHEMA)


def names_of(table: pa.Table, kind: str) -> pa.Array:
    """Return the names of one kind, in the order of the table."""
    return table["name"].filter(pc.equal(table["kind"], kind)).combine_chunks()


def document_codes(datasets: pa.ChunkedArray, doc_ids: pa.ChunkedArray) -> pa.Array:
    """Return 64 bits of the hash (BLAKE2b) of each sentence's document, `[sentences]` int64.

    With hashes, workers do not need a shared list of documents. Equal doc_ids of two datasets are two documents. Among
    20 million documents the probability that two share a code is 1e-5.
    """
    whole = pc.binary_join_element_wise(datasets, doc_ids, _OF).combine_chunks().dictionary_encode()
    names = whole.dictionary.to_pylist()
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names)
    return pa.array(np.frombuffer(digests, "<i8")).take(whole.indices)


def _encoded(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the index of each value among the sorted distinct values (null for null), and the distinct values."""
    encoded = values.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary)
    rank = np.empty(len(order), np.int32)
    rank[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return pa.array(rank).take(encoded.indices), encoded.dictionary.take(order)


def _offsets(lists: pa.ListArray) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
