"""A run's folder on any file system that pyarrow opens, with atomic commits of complete files."""

import errno
import json
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs as pafs

from ops.errors import InputError, disk_full, one_line
from ops.schema import SCHEMA_VERSION, TABLES
from ops.storage.streams import locate

FINGERPRINT = b"atlas.fingerprint"
SHARD = b"atlas.contents"  # not the key of earlier versions, whose unfinished files hold other columns
ROWS = b"atlas.rows"
_UPLOAD_BYTES = 1 << 22
# Words in the answers of stores that refuse the checksum which newer AWS libraries send after the body of an upload.
_CHECKSUM = re.compile(r"sha256|checksum|trailer|NotImplemented|MissingContentLength", re.IGNORECASE)


@dataclass(frozen=True)
class View:
    """The part of a run's folder that a running stage sees.

    Attributes:
        own: the folders of the stage's tables. They are in `under` until all of them are complete. Previous tables, if
            any, stay where they are.
        under: the folder that contains the stage's own tables until they are complete.
        guard: called with the store before a file is put in place; raises an error if the job lost the run.
        files: the paths of the files of each finished table; other files in its folder are ignored.
    """

    own: tuple[str, ...] = ()
    under: str = ""
    guard: Callable[["Store"], None] | None = None
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Store:
    """The files below one folder, local or remote; every file is written completely or not at all.

    A local file is first written under a name that begins with a dot and ends with a unique suffix, and is then
    renamed. On object storage, the file is built on local disk and then uploaded, because a stream that is closed
    after an error may leave an object that looks complete.
    """

    def __init__(self, uri: str, view: View | None = None) -> None:
        self.uri, self.view = uri, view or View()
        self.filesystem, self.root = locate(uri)
        self.local = isinstance(self.filesystem, pafs.LocalFileSystem)

    def __reduce__(self) -> tuple[type["Store"], tuple[str, View]]:
        return Store, (self.uri, self.view)

    def seen_by(self, view: View) -> "Store":
        """Return a store of the same folder as a running stage with this view sees it."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), view=view)
        return other

    def path(self, name: str) -> str:
        """Return the full path of `name` on this store's file system."""
        if any(name == table or name.startswith(f"{table}/") for table in self.view.own):
            name = f"{self.view.under}/{name}"
        return f"{self.root.rstrip('/')}/{name}" if name else self.root

    def table_files(self, table: str) -> list[str]:
        """Return the paths of a table's files, sorted: the files that the view names, or all files in its folder."""
        if table in self.view.files:
            return list(self.view.files[table])
        return [f"{table}/{name}" for name in self.files(table, ".parquet")]

    def exists(self, name: str) -> bool:
        """Return whether a file or folder of that name exists."""
        return bool(self.filesystem.get_file_info(self.path(name)).type != pafs.FileType.NotFound)

    def is_file(self, name: str) -> bool:
        """Return whether a file (not a folder) of that name exists."""
        return bool(self.filesystem.get_file_info(self.path(name)).type == pafs.FileType.File)

    def files(self, folder: str, suffix: str = "") -> list[str]:
        """Return the names of the finished files directly in `folder`, sorted; hidden, unfinished files are ignored."""
        names = [name for name, size in self._list(self.path(folder)) if size is not None]
        return sorted(n for n in names if n.endswith(suffix) and not n.startswith("."))

    def entries(self) -> list[str]:
        """Return every name directly below the root, including hidden names, sorted."""
        return sorted(name for name, _ in self._list(self.root))

    def walk(self, folder: str) -> dict[str, int]:
        """Return the bytes of all files below `folder`, including unfinished files, by their paths below the root."""
        below = self.path(folder).removeprefix(self.root.rstrip("/")).strip("/")
        files = self._list(self.path(folder), recursive=True)
        return {f"{below}/{name}" if below else name: size for name, size in sorted(files) if size is not None}

    def _list(self, folder: str, recursive: bool = False) -> Iterator[tuple[str, int | None]]:
        """Yield the paths below a folder, in no particular order, with the bytes of each file and None for a folder."""
        if self.local:
            # Local names may not be valid UTF-8, which pyarrow cannot read.
            yield from _list_local(folder, recursive)
            return
        selector = pafs.FileSelector(folder, allow_not_found=True, recursive=recursive)
        for info in self.filesystem.get_file_info(selector):
            name = info.path.removeprefix(folder.rstrip("/")).removeprefix("/")
            yield name, (info.size or 0) if info.is_file else None

    def size(self, folder: str) -> int:
        """Return the bytes of all files below `folder`."""
        return sum(self.walk(folder).values())

    def free_bytes(self) -> int | None:
        """Return the free bytes of the disk on which the folder is or will be; None if the folder is not local."""
        return shutil.disk_usage(self.existing_folder()).free if self.local else None

    def existing_folder(self) -> str:
        """Return the local folder, or the closest folder above it that exists."""
        folder = self.root
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        return folder

    def commit(self, name: str, write: Callable[[str], object]) -> None:
        """Put a file in place in one step; `write` builds the file at the local path that it is given."""
        self.commit_several({"": name}, lambda paths: write(paths[""]))

    def commit_several(self, names: dict[str, str], write: Callable[[dict[str, str]], object]) -> None:
        """Put files that are built together in place, each in one step, in the order of `names`.

        Args:
            names: the files' names, each under a key.
        """
        with ExitStack() as cleaned_up:
            if self.local:
                for name in names.values():
                    os.makedirs(self.path(name.rpartition("/")[0]), exist_ok=True)
                paths = {key: self.path(attempt_name(name)) for key, name in names.items()}
                for path in paths.values():
                    cleaned_up.callback(Path(path).unlink, missing_ok=True)
            else:
                scratch = cleaned_up.enter_context(tempfile.TemporaryDirectory(prefix="atlas-"))
                paths = {key: os.path.join(scratch, name.replace("/", "_")) for key, name in names.items()}
            write(paths)
            if self.view.guard is not None:
                self.view.guard(self)
            put = os.replace if self.local else self._upload
            for key, name in names.items():
                put(paths[key], self.path(name))

    def _upload(self, source: str, path: str) -> None:
        # pyarrow's copy_files ignores an error at the end of an upload, when S3 reports most errors.
        with open(source, "rb") as file:
            target = self.filesystem.open_output_stream(path, compression=None)
            try:
                shutil.copyfileobj(file, target, _UPLOAD_BYTES)
            except BaseException:
                # A stream can only be closed, which puts the incomplete object in place; so it is deleted afterwards.
                with suppress(OSError, pa.ArrowException):
                    target.close()
                with suppress(OSError, pa.ArrowException):
                    self.filesystem.delete_file(path)
                raise
            target.close()

    def write_json(self, name: str, value: Any) -> None:
        """Commit `value` as indented JSON."""
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        self.commit(name, lambda path: Path(path).write_text(text, encoding="utf-8"))

    def read_json(self, name: str) -> Any:
        """Return the content of a JSON file.

        Raises:
            InputError: the file is not JSON.
        """
        with self.filesystem.open_input_stream(self.path(name)) as stream:
            data = stream.read()
        try:
            return json.loads(data)
        except ValueError as error:
            raise InputError(f"{self.path(name)}: is not JSON ({one_line(error)})") from error

    def parquet_of_any_table(self, name: str) -> pq.ParquetFile:
        """Open a Parquet file whose footer the caller checks; otherwise as `parquet`."""
        try:
            return pq.ParquetFile(
                self.path(name), filesystem=self.filesystem, page_checksum_verification=True, pre_buffer=not self.local
            )
        except UnicodeDecodeError as error:
            raise pa.ArrowInvalid(f"{name}: its footer names a column that is not UTF-8") from error

    def parquet(self, name: str) -> pq.ParquetFile:
        """Open a Parquet file for reading by row groups, with its checksums verified; close it, or use a `with`.

        On object storage, adjacent columns are read with one request.

        Raises:
            InputError: it is in a table's folder, and is not a part of this table.
        """
        file = self.parquet_of_any_table(name)
        try:
            check_layout(self.path(name), name, file.schema_arrow)
        except InputError:
            file.close()
            raise
        return file

    def dataset(self, table: str) -> ds.Dataset:
        """Return a table as a data set, whose first file was checked as `parquet` checks it."""
        names = self.table_files(table)
        layout = ds.ParquetFileFormat(page_checksum_verification=True)
        dataset = ds.dataset([self.path(name) for name in names], filesystem=self.filesystem, format=layout)
        for name in names[:1]:
            check_layout(self.path(name), name, dataset.schema)
        return dataset

    def delete(self, name: str) -> None:
        """Remove a file, or a folder with all its content; do nothing if it does not exist."""
        info = self.filesystem.get_file_info(self.path(name))
        if info.type == pafs.FileType.Directory:
            self.filesystem.delete_dir(info.path)
        elif info.type == pafs.FileType.File:
            self.filesystem.delete_file(info.path)

    def delete_attempts(self, name: str) -> None:
        """Remove what killed processes left of unfinished files of this name, in the top folder of a local store."""
        if self.local:
            for entry in self.entries():
                if entry.startswith(_start_of_attempt(name)):
                    self.delete(entry)

    def place(self, name: str) -> None:
        """Move a file of the view's own tables to its final path, in one step if the file system supports that."""
        source, target = self.path(name), self.seen_by(View()).path(name)
        if self.local:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.replace(source, target)
        else:
            self.filesystem.move(source, target)

    @contextmanager
    def first_write(self) -> Iterator[None]:
        """Create the folder, for a context in which a job writes its first file.

        Raises:
            InputError: nothing can be written there.
        """
        try:
            if self.local:
                os.makedirs(self.root, exist_ok=True)
            yield
        except (OSError, pa.ArrowException) as error:
            if disk_full(error):
                raise
            reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else one_line(error)
            advice = "name a writable folder"
            if not self.local and _CHECKSUM.search(str(error)):
                advice = "set AWS_REQUEST_CHECKSUM_CALCULATION=when_required if the store knows no trailing checksums"
            raise InputError(f"--out {self.uri}: cannot be written ({reason}); {advice}") from error


def check_layout(path: str, name: str, arrow: pa.Schema) -> None:
    """Check that a file has no column that its table lacks, and its keys if a job of this version wrote it.

    Args:
        path: the file's full path, for the message.
        name: its path below the run's folder, such as `topk/part-00000.parquet`; only files of tables are checked.

    Raises:
        InputError: the file belongs to another table.
    """
    table = name.rpartition("/")[0]
    columns, is_ours = set(arrow.names), (arrow.metadata or {}).get(b"atlas.schema_version") == SCHEMA_VERSION.encode()
    if table == "activations":
        is_part = "sent_id" in columns and all(name.startswith("layer_") for name in columns - {"sent_id"})
    elif table in TABLES:
        spec = TABLES[table]
        is_part = columns <= {column.name for column in spec.columns} and (not is_ours or columns >= set(spec.order))
    else:
        return
    if not is_part:
        raise InputError(
            f"{path}: is not a part of {table}/ (its columns are {', '.join(arrow.names)}); restore the file, or give "
            "the command that writes this table again with --redo"
        )


def _list_local(folder: str, recursive: bool, below: str = "") -> Iterator[tuple[str, int | None]]:
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir():
            yield below + entry.name, None
            if recursive and not entry.is_symlink():
                yield from _list_local(entry.path, recursive, f"{below}{entry.name}/")
        else:
            # An unfinished file may have been removed by now.
            with suppress(FileNotFoundError):
                yield below + entry.name, entry.stat(follow_symlinks=entry.is_file()).st_size


def shard_footer(fingerprint: str, shard: str, rows: int) -> dict[bytes, bytes]:
    """Return the footer entries that identify a partial file as this shard's complete result."""
    return {FINGERPRINT: fingerprint.encode(), SHARD: shard.encode(), ROWS: str(rows).encode()}


def is_marked(file: pq.ParquetFile, fingerprint: str, shard: str) -> bool:
    """Return whether the footer of an open partial file has this fingerprint, this shard and the file's row count."""
    footer = file.metadata.metadata or {}
    marks = shard_footer(fingerprint, shard, file.metadata.num_rows)
    return all(footer.get(key) == value for key, value in marks.items())


def is_whole(store: Store, name: str, fingerprint: str, shard: str) -> bool:
    """Return whether a partial file can be read and its footer has this fingerprint, this shard and its row count."""
    try:
        with store.parquet_of_any_table(name) as file:
            return is_marked(file, fingerprint, shard)
    except FileNotFoundError:
        return False
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
            raise
        return False


def attempt_name(name: str) -> str:
    """Return a hidden name for a file that is not finished yet, different from that of every other attempt."""
    return f"{_start_of_attempt(name)}{uuid.uuid4().hex[:12]}"


def _start_of_attempt(name: str) -> str:
    folder, slash, base = name.rpartition("/")
    return f"{folder}{slash}.{base}."
