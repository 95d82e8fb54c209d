"""Annotated sentences as codes: the files that mining's store is built from, one a shard, and their vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ops.penn import read_labels_and_sizes
from ops.schema import meta_keys, schema

if TYPE_CHECKING:
    # Mining reads codes too, and its workers start two seconds sooner without spaCy.
    from ops.sentences.pipeline import Annotation

_CODED = pa.list_(pa.dictionary(pa.int32(), pa.string()))

_PLAIN = ("sent_id", "is_baseline", "is_winner", "dataset", "meta")
# Between a data set's name and a doc_id: equal doc_ids of two data sets are two documents.
_OF = "\x1f"
_CODES = pa.schema([("words", _CODED), ("tags", _CODED), ("labels", _CODED), ("sizes", pa.list_(pa.int32()))])

# The kinds of names that codes stand for, each with its own codes: places in the sorted list of that kind.
NAME_KINDS = ("word", "tag", "label", "dataset", "document")
_COLUMNS = {"word": "words", "tag": "tags", "label": "labels", "dataset": "dataset", "document": "document"}

VOCABULARY_SCHEMA = pa.schema([("kind", pa.string()), ("name", pa.string())])


def sentence_table(corpus: pa.Table, annotations: list[Annotation], baseline: pa.Array, winner: pa.Array) -> pa.Table:
    """Return the rows of `sentences/` for rows of `corpus/` and their annotations, with the fields of its `meta`."""
    found = schema("sentences", meta_keys(corpus.schema))
    columns = {name: corpus[name] for name in found.names if name in corpus.column_names}
    columns |= {
        "words": pa.array([a.words for a in annotations], pa.list_(pa.string())),
        "tags": pa.array([a.tags for a in annotations], pa.list_(pa.string())),
        "tree": pa.array([a.tree for a in annotations], pa.string()),
        "is_baseline": baseline,
        "is_winner": winner,
    }
    return pa.table({name: columns[name] for name in found.names}).cast(found)


def coded_table(sentences: pa.Table) -> pa.Table:
    """Return the codes of rows of `sentences/`; trees as labels and sizes, without words and punctuation."""
    trees = [read_labels_and_sizes(tree) if tree is not None else ([], []) for tree in sentences["tree"].to_pylist()]
    columns = {name: sentences[name] for name in _PLAIN if name in sentences.column_names}
    columns["document"] = pc.binary_join_element_wise(sentences["dataset"], sentences["doc_id"], _OF)
    codes = {
        "words": _encoded(sentences["words"]),
        "tags": _encoded(sentences["tags"]),
        "labels": _encoded(pa.array([labels for labels, _ in trees], pa.list_(pa.string()))),
        "sizes": pa.array([sizes for _, sizes in trees], pa.list_(pa.int32())),
    }
    return pa.table(columns | {field.name: codes[field.name].cast(field.type) for field in _CODES})


def vocabulary(tables: Iterable[pa.Table]) -> pa.Table:
    """Return every name that occurs in tables of codes, each kind sorted: a name's code is its place there."""
    found: dict[str, set[str]] = {kind: set() for kind in NAME_KINDS}
    for table in tables:
        for kind, column in _COLUMNS.items():
            found[kind].update(_distinct(table[column]))
    rows = [(kind, name) for kind in NAME_KINDS for name in sorted(found[kind])]
    return pa.table({"kind": [k for k, _ in rows], "name": [n for _, n in rows]}, schema=VOCABULARY_SCHEMA)


def vocabulary_columns() -> list[str]:
    """Return the columns of codes that `vocabulary` reads."""
    return list(_COLUMNS.values())


def _encoded(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    lists = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    names = pc.list_flatten(lists).dictionary_encode()
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    return pa.ListArray.from_arrays(offsets, names)


def _distinct(column: pa.ChunkedArray) -> set[str]:
    names: set[str] = set()
    for chunk in column.chunks:
        values = chunk.flatten() if pa.types.is_list(chunk.type) else chunk
        unique = values.unique()
        names.update(
            unique.dictionary.take(unique.indices).to_pylist()
            if pa.types.is_dictionary(unique.type)
            else unique.to_pylist()
        )
    return names
