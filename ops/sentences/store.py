"""The annotated sentences as flat integer arrays on local disk, memory-mapped, so that many workers share one copy."""

import os
import shutil
import stat
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ops.errors import InputError
from ops.patterns.forest import Forest
from ops.patterns.sequences import Sequences
from ops.schema import SCHEMA_VERSION, meta_keys
from ops.sentences.codes import NAME_KINDS
from ops.storage.range_file import read_groups
from ops.storage.store import Store

Longs = npt.NDArray[np.int64]
_LISTS = {"words": "word", "tags": "tag", "labels": "label"}


class SentenceStore:
    """What mining needs of every sentence in `sentences/`, by row; rows are in the order of sentence ids.

    Attributes:
        sent_id: `[sentences]` int64, ascending.
        baseline, winner: `[sentences]` bool.
        doc, dataset: codes `[sentences]` int32.
        names: the sorted names of each kind of code (`word`, `tag`, `label`, `dataset`, `document`).
        meta: for each meta key its sorted values, and the codes `[sentences]` int32, -1 where the key is absent.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.sent_id: Longs = self._load("sent_id")
        self.baseline, self.winner = self._load("is_baseline"), self._load("is_winner")
        self.doc, self.dataset = self._load("document"), self._load("dataset")
        self.names = {kind: self._names(kind) for kind in NAME_KINDS}
        keys = self._names("meta_keys")
        self.meta = {key: (self._names(f"meta_{i}_names"), self._load(f"meta_{i}")) for i, key in enumerate(keys)}
        # Plain views of the mapped files: numba compiles anew for every kind of array.
        self._lists = {n: tuple(np.asarray(self._load(f)) for f in (n, f"{n}_offsets")) for n in (*_LISTS, "sizes")}

    def rows(self, sent_ids: Longs) -> Longs:
        """Return the rows of these sentences.

        Raises:
            KeyError: one of them is not in the store.
        """
        rows = np.searchsorted(self.sent_id, sent_ids)
        rows = np.minimum(rows, len(self.sent_id) - 1)
        if not np.array_equal(self.sent_id[rows], sent_ids):
            raise KeyError(f"sentence {int(sent_ids[self.sent_id[rows] != sent_ids][0])} is not in sentences/")
        return rows

    def words(self, rows: Longs) -> Sequences:
        """Return the words of these rows as codes."""
        return self._take("words", rows)

    def tags(self, rows: Longs) -> Sequences:
        """Return the tags of these rows as codes; a sentence that was not tagged has none."""
        return self._take("tags", rows)

    def forest(self, rows: Longs) -> Forest:
        """Return the trees of these rows, ROOT among their nodes; a sentence that was not parsed has an empty one."""
        labels = self._take("labels", rows)
        return Forest(labels.items, self._take("sizes", rows).items, labels.offsets)

    def lengths(self, rows: Longs) -> Longs:
        """Return the words of each of these rows, counted."""
        offsets = self._lists["words"][1]
        return np.asarray(offsets[rows + 1] - offsets[rows])

    @property
    def has(self) -> dict[str, bool]:
        """Which of words, tags and labels the sentences have at all."""
        return {name: len(self._lists[name][0]) > 0 for name in _LISTS}

    def _take(self, name: str, rows: Longs) -> Sequences:
        return Sequences(*self._lists[name]).take(rows)

    def _load(self, name: str) -> npt.NDArray[Any]:
        return np.load(self._folder / f"{name}.npy", mmap_mode="r")  # type: ignore[no-any-return]

    def _names(self, name: str) -> list[str]:
        text = (self._folder / f"{name}.names").read_bytes().decode()
        return text.split("\0")[:-1]


def open_sentences(store: Store, codes: str, fingerprint: str) -> SentenceStore:
    """Open the local copy of a run's store, building it first where this machine has none.

    Args:
        store: the run's directory.
        codes: the folder below it that holds the annotated sentences as codes, and `vocabulary.parquet`.
        fingerprint: the annotate stage's, by which the copy is known.
    """
    folder = _copy(fingerprint)
    _check_private(folder.parent)
    if not folder.exists():
        attempt = folder.parent / f".{folder.name}.{uuid.uuid4().hex[:12]}"
        attempt.mkdir()
        try:
            _build(store, codes, attempt)
            try:
                attempt.rename(folder)
            except OSError:
                if not folder.exists():
                    raise
        finally:
            shutil.rmtree(attempt, ignore_errors=True)
    return SentenceStore(folder)


def has_copy(fingerprint: str) -> bool:
    """Tell whether this machine has a copy of a run's store."""
    return _copy(fingerprint).exists()


def drop_sentences(fingerprint: str) -> None:
    """Remove this machine's copy of a run's store."""
    shutil.rmtree(_copy(fingerprint), ignore_errors=True)


def _copy(fingerprint: str) -> Path:
    """Return where this machine's copy lies: below ATLAS_CACHE or the temporary folder, under the user's number."""
    base = os.environ.get("ATLAS_CACHE") or tempfile.gettempdir()
    return Path(base) / f"neuron-atlas-{os.getuid()}" / f"{fingerprint[:32]}-{SCHEMA_VERSION}"


def _check_private(folder: Path) -> None:
    """Make the folder of the copies, for this user alone.

    Raises:
        InputError: it is somebody else's: what lies there is not to be trusted.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
        raise InputError(f"{folder}: is not a folder of yours; name another place for local copies by ATLAS_CACHE")
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def _build(store: Store, codes: str, folder: Path) -> None:
    with store.parquet(f"{codes}/vocabulary.parquet") as file:
        vocabulary = file.read()
    names = {k: vocabulary["name"].filter(pc.equal(vocabulary["kind"], k)).combine_chunks() for k in NAME_KINDS}
    for kind, values in names.items():
        _write_names(folder, kind, values.to_pylist())
    parts: dict[str, list[npt.NDArray[Any]]] = {}
    meta: dict[str, list[tuple[Longs, list[str]]]] = {}
    before = 0
    for name in store.table_files(codes):
        if name == f"{codes}/vocabulary.parquet":
            continue
        for group in read_groups(store, name):
            before += _add_codes(group.combine_chunks(), names, before, parts, meta)
    for column, arrays in parts.items():
        whole = np.concatenate(arrays)
        if column.endswith("_offsets"):
            whole = np.concatenate([np.zeros(1, np.int64), np.cumsum(whole)])
        np.save(folder / f"{column}.npy", whole)
    keys = sorted(meta)
    _write_names(folder, "meta_keys", keys)
    for i, key in enumerate(keys):
        values = sorted({value for _, found in meta[key] for value in found})
        place = {value: code for code, value in enumerate(values)}
        own = np.full(before, -1, np.int32)
        for rows, found in meta[key]:
            own[rows] = [place[value] for value in found]
        _write_names(folder, f"meta_{i}_names", values)
        np.save(folder / f"meta_{i}.npy", own)


def _add_codes(
    table: pa.Table,
    names: dict[str, pa.StringArray],
    before: int,
    parts: dict[str, list[npt.NDArray[Any]]],
    meta: dict[str, list[tuple[Longs, list[str]]]],
) -> int:
    """Add the rows of a table of codes, `before` of which came already, and return how many they are."""
    for column in ("sent_id", "is_baseline", "is_winner"):
        parts.setdefault(column, []).append(table[column].to_numpy())
    for column in ("dataset", "document"):
        parts.setdefault(column, []).append(pc.index_in(table[column], names[column]).to_numpy().astype(np.int32))
    for column in (*_LISTS, "sizes"):
        lists = _whole(table[column])
        parts.setdefault(f"{column}_offsets", []).append(np.asarray(pc.list_value_length(lists)).astype(np.int64))
        flat = lists.flatten()
        if column in _LISTS:
            flat = _recode(flat, names[_LISTS[column]])
        parts.setdefault(column, []).append(np.asarray(flat).astype(np.int32))
    for key in meta_keys(table.schema):
        _collect_values(table["meta"], key, before, meta)
    return int(table.num_rows)


def _whole(column: pa.ChunkedArray) -> pa.ListArray:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(pa.unify_dictionaries(column).chunks) if column.num_chunks else pa.array([], column.type)


def _recode(flat: pa.DictionaryArray, names: pa.StringArray) -> npt.NDArray[np.int32]:
    if not len(flat):
        return np.zeros(0, np.int32)
    codes = pc.index_in(flat.dictionary, names).to_numpy(zero_copy_only=False).astype(np.int32)
    return np.asarray(codes[flat.indices.to_numpy(zero_copy_only=False)])


def _collect_values(
    column: pa.ChunkedArray, key: str, before: int, meta: dict[str, list[tuple[Longs, list[str]]]]
) -> None:
    for chunk in column.chunks:
        values = chunk.field(key)
        rows = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False)) + before
        if len(rows):
            meta.setdefault(key, []).append((rows, values.drop_null().to_pylist()))
        before += len(chunk)


def _write_names(folder: Path, name: str, values: list[str]) -> None:
    (folder / f"{name}.names").write_bytes("".join(v + "\0" for v in values).encode())
