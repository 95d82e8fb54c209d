"""The annotated sentences as flat integer arrays on local disk, memory-mapped, so that many workers share one copy."""

import json
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ops.arrays import Arrays, Bools, Int8s, Int32s, Int64s, Integers, begins_group, places_among
from ops.patterns.forest import Forest
from ops.patterns.sequences import Sequences
from ops.sentences.codes import LISTS, NAME_KINDS, meta_kinds
from ops.sentences.folds import HALF
from ops.sentences.names import Names
from ops.shards import spans
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store

FACTS, HASHES = "facts.json", "document.hash"
FLAGS = ("is_baseline", "is_winner")  # boolean columns
SHARDS_PER_REQUEST = 16  # number of shards whose row groups are read together
LOWER = "lower"  # the words in lower case, an additional list next to the numbered kinds of names
SHARDS = 3  # read in parallel
WORDS = 1 << 16  # processed at a time
_BLOCK = 1 << 20  # sentences

# Without tags, a word is punctuation if it consists only of these marks. Symbols such as % are not punctuation.
_MARKS = frozenset(".,:;!?'\"`()[]{}-_\u2010\u2011\u2012\u2013\u2014\u2015\u2018\u2019\u201c\u201d\u2026\u00ab\u00bb")


class SentenceStore:
    """The data that mining needs of every sentence in `sentences/`, with one row per sentence in the order of ids.

    Attributes:
        sent_id: `[sentences]` int64, ascending.
        baseline, winner: whether each sentence is in the baseline, and is a winner, `[sentences]` bool each.
        fold: the fold of each sentence's document, `[sentences]` int8 from 0 to 9.
        wins: number of neurons and poles of which each sentence is a winner, `[sentences]` int32.
        doc, dataset: the codes of each sentence's document and dataset, `[sentences]` int32. Documents are numbered
            from 0 in the order of their hashes.
        documents: number of documents.
        names: the sorted names of each kind of code (`word`, `tag`, `label`, `dataset`).
        meta: for each metadata key its sorted values, and the sentences' codes, `[sentences]` int32, which are -1 if a
            sentence lacks the key.
        word_is_mark: whether a word is punctuation by itself, `[words]` bool.
        lower_names, word_lower: the sorted words in lower case, and the code of each word's lower-case form in this
            list, `[words]` int32.
    """

    def __init__(self, folder: Path) -> None:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        self.documents: int = facts["documents"]
        self.sent_id: Int64s = _map(folder / "sent_id", np.int64)
        self.baseline, self.winner = (_map(folder / name, np.bool_) for name in FLAGS)
        self.fold: Int8s = _map(folder / "fold", np.int8)
        self.wins: Int32s = _map(folder / "wins", np.int32)
        self.doc, self.dataset = _map(folder / "document", np.int32), _map(folder / "dataset", np.int32)
        place = {kind: number for number, kind in enumerate(facts["kinds"])}
        self.names = {kind: _map_names(folder, place[kind]) for kind in NAME_KINDS}
        self.meta = {
            key: (_map_names(folder, place[kind]), _map(folder / f"meta_{i}", np.int32))
            for i, (key, kind) in enumerate(meta_kinds(place).items())
        }
        self.word_is_mark = _map(folder / "word_is_mark", np.bool_)
        self.lower_names, self.word_lower = _map_names(folder, LOWER), _map(folder / "word_lower", np.int32)
        # Plain arrays over the mapped files, because numba compiles a function again for every array type.
        ends = {name: np.asarray(_map(folder / f"{name}.ends", np.int64)) for name in LISTS}
        self._lists = {name: (np.asarray(_map(folder / name, np.int32)), ends[name]) for name in LISTS}
        self._lists["sizes"] = (np.asarray(_map(folder / "sizes", np.int32)), ends["labels"])

    def rows(self, sent_ids: Int64s) -> Int64s:
        """Return the rows of the sentences with these ids.

        Raises:
            KeyError: one of the sentences is not in the store.
        """
        rows, are_there = places_among(self.sent_id, sent_ids)
        if not are_there.all():
            raise KeyError(f"sentence {int(sent_ids[~are_there][0])} is not in sentences/")
        return rows

    def words(self, rows: Int64s) -> Sequences:
        """Return the words of these rows as codes."""
        return self._take("words", rows)

    def tags(self, rows: Int64s) -> Sequences:
        """Return the tags of these rows as codes; a sentence that was not tagged has an empty list."""
        return self._take("tags", rows)

    def forest(self, rows: Int64s) -> Forest:
        """Return the trees of these rows, including ROOT; a sentence that was not parsed has an empty tree."""
        labels = self._take("labels", rows)
        return Forest(labels.items, self._take("sizes", rows).items, labels.offsets)

    def lengths(self, rows: Int64s) -> Int64s:
        """Return the number of words of each of these rows."""
        offsets = self._lists["words"][1]
        return np.asarray(offsets[rows + 1] - offsets[rows])

    @cached_property
    def longest(self) -> int:
        """The number of words of the longest sentence."""
        ends = self._lists["words"][1]
        blocks = (np.diff(ends[first : stop + 1]) for first, stop in spans(len(ends) - 1, _BLOCK))
        return max((int(block.max()) for block in blocks), default=0)

    @property
    def held_out(self) -> Bools:
        """Whether each sentence belongs to a document of folds 5 to 9, `[sentences]` bool."""
        return np.asarray(self.fold >= HALF)

    @property
    def has(self) -> dict[str, bool]:
        """Whether any sentence has words, tags and labels, as a mapping from column to bool."""
        return {name: len(self._lists[name][0]) > 0 for name in LISTS}

    def _take(self, name: str, rows: Int64s) -> Sequences:
        return Sequences(*self._lists[name]).take(rows)


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
    with store.parquet(places) as file:
        kinds: list[str] = file.schema_arrow.names
        _copy_names(store, vocabulary, kinds, folder)
        tables = side_by_side(partial(_read, store), files, SHARDS)
        for table, row in zip(tables, _places(file), strict=True):
            _add(table, {kind: _flat(row[kind]) for kind in kinds}, folder)
    documents = _number_documents(folder)
    _describe_words(folder, kinds.index("word"))
    (folder / FACTS).write_text(json.dumps({"kinds": kinds, "documents": documents}), encoding="utf-8")


def is_mark(word: str) -> bool:
    """Return whether a word without a tag is punctuation, by its characters."""
    return all(character in _MARKS for character in word)


def _append(path: Path, numbers: Arrays) -> None:
    """Append numbers to a file of numbers of one type without a header, or create it."""
    with path.open("ab") as file:
        file.write(np.ascontiguousarray(numbers).data)


def _append_lengths(path: Path, lengths: Integers) -> None:
    """Append the ends of further lists, computed from their lengths, to a file of int64 that begins with 0."""
    if not path.exists():
        _append(path, np.zeros(1, np.int64))
    _append(path, _map(path, np.int64)[-1] + np.cumsum(lengths, dtype=np.int64))


def _map(path: Path, kind: type[np.generic]) -> Arrays:
    """Return a memory-mapped array over a file of numbers of this type, so that only the values read use memory."""
    return np.memmap(path, kind, "r") if path.stat().st_size else np.zeros(0, kind)


def _append_names(folder: Path, number: int | str, names: pa.Array) -> None:
    """Append names to the list of a kind, given the kind's index; a list is a file of ends and one of bytes."""
    _append_lengths(folder / f"names_{number}.ends", pc.binary_length(names).to_numpy(zero_copy_only=False))
    _append(folder / f"names_{number}.text", np.frombuffer("".join(names.to_pylist()).encode(), np.uint8))


def _map_names(folder: Path, number: int | str) -> Names:
    ends, text = _map(folder / f"names_{number}.ends", np.int64), _map(folder / f"names_{number}.text", np.uint8)
    return Names(pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(text)))


def _copy_names(store: Store, vocabulary: str, kinds: list[str], folder: Path) -> None:
    for number in range(len(kinds)):
        _append_names(folder, number, pa.array([], pa.string()))
    with store.parquet(vocabulary) as file:
        for group in range(file.num_row_groups):
            # A group contains one or more names of one kind.
            table = file.read_row_group(group)
            _append_names(folder, kinds.index(table["kind"][0].as_py()), table["name"].combine_chunks())


def _places(file: pq.ParquetFile) -> Iterator[pa.Table]:
    """Yield the row of each shard; several shards are read with one request."""
    for start, stop in spans(file.num_row_groups, SHARDS_PER_REQUEST):
        table = file.read_row_groups(list(range(start, stop)))
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


def _add(table: pa.Table, places: dict[str, Int32s], folder: Path) -> None:
    """Add a shard's rows, with its codes translated to positions among the names of all shards."""
    for column, kind in LISTS.items():
        lengths = pc.list_value_length(table[column]).combine_chunks().to_numpy(zero_copy_only=False)
        _append_lengths(folder / f"{column}.ends", lengths)
        _append(folder / column, places[kind][_flat(table[column])])
    for column in ("sizes", "sent_id", "fold", "wins"):
        _append(folder / column, _flat(table[column]))
    for column in FLAGS:
        _append(folder / column, _flat(table[column]).astype(bool))
    _append(folder / HASHES, _flat(table["document"]))
    _append(folder / "dataset", places["dataset"][_flat(table["dataset"])])
    for number, kind in enumerate(meta_kinds(places).values()):
        # A sentence without the key has no code; -1 is both its index and its place.
        codes = pc.fill_null(table[kind], -1).to_numpy()
        _append(folder / f"meta_{number}", np.append(places[kind], np.int32(-1))[codes])


def _number_documents(folder: Path) -> int:
    """Number the distinct documents from 0 in the order of their hashes, and return the number of documents."""
    hashes = _map(folder / HASHES, np.int64)
    distinct = np.sort(hashes)  # numpy's unique would hash them: 57 bytes a sentence instead of 20
    distinct = distinct[begins_group(distinct)]
    np.searchsorted(distinct, hashes).astype(np.int32).tofile(folder / "document")
    (folder / HASHES).unlink()
    return len(distinct)


def _describe_words(folder: Path, number: int) -> None:
    """Write for each word whether it is punctuation by itself, and the code of its lower-case form in its own list."""
    words = _map_names(folder, number)
    lower = [pa.array([], pa.large_string())]
    _append(folder / "word_is_mark", np.zeros(0, bool))
    for start, stop in spans(len(words), WORDS):
        some = words[start:stop]
        _append(folder / "word_is_mark", np.array([*map(is_mark, some)], bool))
        lower.append(pa.array([word.lower() for word in some], pa.large_string()))
    every = pa.concat_arrays(lower)
    distinct = every.unique()
    distinct = distinct.take(pc.array_sort_indices(distinct))
    _append(folder / "word_lower", pc.index_in(every, distinct).to_numpy(zero_copy_only=False).astype(np.int32))
    for start in range(0, max(len(distinct), 1), WORDS):
        _append_names(folder, LOWER, distinct.slice(start, WORDS))
