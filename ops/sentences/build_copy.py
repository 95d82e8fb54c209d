"""Construction of the local copy of the annotated sentences: flat arrays on disk, with few shards in memory at once."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ops.arrays import Arrays, Int32s, Integers, begins_group
from ops.sentences.codes import LISTS, meta_kinds
from ops.sentences.names import Names
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store

FACTS, HASHES = "facts.json", "document.hash"
FLAGS = ("is_baseline", "is_winner")  # boolean columns
SHARDS_PER_REQUEST = 16  # number of shards whose row groups are read together
LOWER = "lower"  # the words in lower case, an additional list next to the numbered kinds of names
NAME_TYPES: tuple[type[np.generic], ...] = (np.int64, np.uint8)
SHARDS = 3  # read in parallel
WORDS = 1 << 16  # processed at a time

# Without tags, a word is punctuation if it consists only of these marks. Symbols such as % are not punctuation.
_MARKS = frozenset(".,:;!?'\"`()[]{}-_\u2010\u2011\u2012\u2013\u2014\u2015\u2018\u2019\u201c\u201d\u2026\u00ab\u00bb")


class FlatWriter(ExitStack):
    """Appends to the arrays of a folder, each stored as one file of numbers without a header.

    Args:
        folder: the folder of the files, which must exist.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._ends: dict[str, int] = {}

    def add(self, name: str, numbers: Arrays) -> None:
        """Append to the array of this name, or create it; all its numbers must have one type."""
        if name not in self._files:
            self._files[name] = self.enter_context(open(self.folder / name, "wb"))  # noqa: SIM115
        self._files[name].write(np.ascontiguousarray(numbers).data)

    def add_lengths(self, name: str, lengths: Integers) -> None:
        """Append the ends of further lists, computed from their lengths, to an int64 array that begins with 0."""
        if name not in self._ends:
            self._ends[name] = 0
            self.add(name, np.zeros(1, np.int64))
        ends = self._ends[name] + np.cumsum(lengths, dtype=np.int64)
        if len(ends):
            self._ends[name] = int(ends[-1])
        self.add(name, ends)


def map_flat(path: Path, kind: type[np.generic]) -> Arrays:
    """Return a memory-mapped array over a file of numbers of this type, so that only the values read use memory."""
    return np.memmap(path, kind, "r") if path.stat().st_size else np.zeros(0, kind)


def build_copy(store: Store, codes: str, folder: Path) -> None:
    """Write the copy that `SentenceStore` reads into an existing empty folder.

    In memory are the codes of a few shards, the name codes of sixteen shards, 20 bytes for each sentence, and two
    copies of the vocabulary of words.

    Args:
        store: the run's folder.
        codes: the path below the run's folder of the shards' codes, `vocabulary.parquet` and
            `vocabulary-places.parquet`.
        folder: the empty folder on this machine.
    """
    vocabulary, places = (f"{codes}/{name}.parquet" for name in ("vocabulary", "vocabulary-places"))
    every = store.table_files(codes)
    files = [name for name in every if name not in (vocabulary, places)]
    with store.parquet(places) as file, FlatWriter(folder) as writer:
        kinds: list[str] = file.schema_arrow.names
        _copy_names(store, vocabulary, kinds, writer)
        tables = side_by_side(partial(_read, store), files, SHARDS)
        for table, place in zip(tables, _places(file), strict=True):
            _add(table, {kind: _flat(place[kind]) for kind in kinds}, writer)
    documents = _number_documents(folder)
    _describe_words(folder, kinds.index("word"))
    (folder / FACTS).write_text(json.dumps({"kinds": kinds, "documents": documents}), encoding="utf-8")


def is_mark(word: str) -> bool:
    """Return whether a word without a tag is punctuation, by its characters."""
    return all(character in _MARKS for character in word)


def names_files(number: int | str) -> tuple[str, str]:
    """Return the names of the two files (ends and bytes) that store the names of a kind, given the kind's index."""
    return f"names_{number}.ends", f"names_{number}.text"


def _copy_names(store: Store, vocabulary: str, kinds: list[str], writer: FlatWriter) -> None:
    for number in range(len(kinds)):
        _add_names(writer, number, pa.array([], pa.string()))
    with store.parquet(vocabulary) as file:
        for group in range(file.num_row_groups):
            # A group contains one or more names of one kind.
            table = file.read_row_group(group)
            _add_names(writer, kinds.index(table["kind"][0].as_py()), table["name"].combine_chunks())


def _add_names(writer: FlatWriter, number: int | str, names: pa.Array) -> None:
    ends, text = names_files(number)
    writer.add_lengths(ends, pc.binary_length(names).to_numpy(zero_copy_only=False))
    writer.add(text, np.frombuffer("".join(names.to_pylist()).encode(), np.uint8))


def _places(file: pq.ParquetFile) -> Iterator[pa.Table]:
    """Yield the row of each shard; several shards are read with one request."""
    for start in range(0, file.num_row_groups, SHARDS_PER_REQUEST):
        table = file.read_row_groups(list(range(start, min(start + SHARDS_PER_REQUEST, file.num_row_groups))))
        yield from (table.slice(row, 1) for row in range(table.num_rows))


def _read(store: Store, name: str) -> pa.Table:
    with store.parquet(name) as file:
        return file.read()


def _flat(column: pa.ChunkedArray) -> Arrays:
    """Return a column of numbers, or the concatenated lists of a column of lists, as one array."""
    whole = column.combine_chunks()
    if pa.types.is_list(whole.type):
        whole = whole.flatten()
    return np.asarray(whole.to_numpy(zero_copy_only=False))


def _add(table: pa.Table, places: dict[str, Int32s], writer: FlatWriter) -> None:
    """Add a shard's rows, with its codes translated to positions among the names of all shards."""
    for column, kind in LISTS.items():
        lengths = pc.list_value_length(table[column]).combine_chunks().to_numpy(zero_copy_only=False)
        writer.add_lengths(f"{column}.ends", lengths)
        writer.add(column, places[kind][_flat(table[column])])
    writer.add("sizes", _flat(table["sizes"]))
    writer.add("sent_id", _flat(table["sent_id"]))
    for column in FLAGS:
        writer.add(column, _flat(table[column]).astype(bool))
    for column in ("fold", "wins"):
        writer.add(column, _flat(table[column]))
    writer.add(HASHES, _flat(table["document"]))
    writer.add("dataset", places["dataset"][_flat(table["dataset"])])
    for number, kind in enumerate(meta_kinds(places).values()):
        codes = table[kind].combine_chunks()
        own = np.full(len(codes), -1, np.int32)
        has = codes.is_valid().to_numpy(zero_copy_only=False)
        own[has] = places[kind][codes.drop_null().to_numpy()]
        writer.add(f"meta_{number}", own)


def _number_documents(folder: Path) -> int:
    """Number the distinct documents from 0 in the order of their hashes, and return the number of documents."""
    hashes = map_flat(folder / HASHES, np.int64)
    distinct = np.sort(hashes)  # numpy's unique would hash them: 57 bytes a sentence instead of 20
    distinct = distinct[begins_group(distinct)]
    np.searchsorted(distinct, hashes).astype(np.int32).tofile(folder / "document")
    (folder / HASHES).unlink()
    return len(distinct)


def _describe_words(folder: Path, number: int) -> None:
    """Write for each word whether it is punctuation by itself, and the code of its lower-case form in its own list."""
    ends, text = (map_flat(folder / name, kind) for name, kind in zip(names_files(number), NAME_TYPES, strict=True))
    words = Names(ends, text)
    lower = [pa.array([], pa.large_string())]
    with FlatWriter(folder) as writer:
        writer.add("word_is_mark", np.zeros(0, bool))
        for start in range(0, len(words), WORDS):
            some = words[start : start + WORDS]
            writer.add("word_is_mark", np.array([*map(is_mark, some)], bool))
            lower.append(pa.array([word.lower() for word in some], pa.large_string()))
        every = pa.concat_arrays(lower)
        distinct = every.unique()
        distinct = distinct.take(pc.array_sort_indices(distinct))
        writer.add("word_lower", pc.index_in(every, distinct).to_numpy(zero_copy_only=False).astype(np.int32))
        for start in range(0, max(len(distinct), 1), WORDS):
            _add_names(writer, LOWER, distinct.slice(start, WORDS))
