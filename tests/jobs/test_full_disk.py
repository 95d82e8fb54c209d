"""A full disk: whichever write fails, nothing is lost, and the same command resumes."""

import errno
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.errors import DiskFullError, disk_full
from tests.jobs.scoring import assert_same, score


@pytest.mark.slow
def test_no_room_at_any_write_loses_nothing(
    source: Path,
    make_model: Callable[..., Path],
    small_bert: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first, the second, ... write of a run meets a full disk, then there is room again."""
    model = make_model(small_bert)
    sound = score(tmp_path / "sound", source, model, shard_size=1_000, workers=1)
    replace, write_table = os.replace, pq.ParquetWriter.write_table
    left = 0

    def spend() -> None:
        nonlocal left
        # A sign of life, of this run or of one that an earlier test of the process left held, is tried again.
        if threading.current_thread().name == "atlas-lock":
            return
        left -= 1
        if left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def full_replace(source: str, target: str) -> None:
        spend()
        replace(source, target)

    def full_write(self: pq.ParquetWriter, table: pa.Table, *args: object, **kwargs: object) -> None:
        spend()
        write_table(self, table, *args, **kwargs)

    monkeypatch.setattr(os, "replace", full_replace)
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full_write)
    out = tmp_path / "out"
    faults = 0
    for write in range(1, 200):
        left = write
        try:
            score(out, source, model, shard_size=1_000, workers=1)
        except OSError as error:
            said = str(disk_full(error))
        else:
            break
        finally:
            left = -1
        assert "give the same command again" in said
        faults += 1
        if write % 3 == 1:
            score(out, source, model, shard_size=1_000, workers=1)
            assert_same(out, sound)
        assert not [p for p in out.rglob(".*") if p.is_file()], "an unfinished file was left"
        shutil.rmtree(out)
    assert faults > 10


def test_a_full_disk_is_told_in_one_line() -> None:
    error = OSError(errno.ENOSPC, "No space left on device", "/runs/a/topk/part-00000.parquet")
    assert "no space left at /runs/a/topk/part-00000.parquet" in str(disk_full(error))
    assert disk_full(OSError(errno.EACCES, "Permission denied")) is None
    assert disk_full(ValueError()) is None
    told = DiskFullError("no room left")
    assert disk_full(told) is told
