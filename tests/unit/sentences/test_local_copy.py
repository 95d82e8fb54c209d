"""This machine's copy of the annotated sentences: whose it is, made once whoever asks, gone when it is dropped."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ops.errors import InputError
from ops.schema import SCHEMA_VERSION
from ops.sentences.local_copy import drop_sentences, open_sentences
from ops.sentences.store import build_copy
from ops.storage.store import Store
from tests.conftest import ROOT
from tests.unit.small_corpus import Sentence, open_corpus, random_sentences, write_store

# Open the copy while other processes do the same; each process that makes a copy says so.
OPEN = """
import os, sys
from ops.sentences import local_copy
from ops.storage.store import Store
build = local_copy.build_copy
def watched(*args):
    print("built", flush=True)
    if sys.argv[2] == "dies":
        os.kill(os.getpid(), 9)
    build(*args)
local_copy.build_copy = watched
print(len(local_copy.open_sentences(Store(sys.argv[1]), "codes", "a" * 64).sent_id))
"""


def copies(cache: Path) -> list[str]:
    """The names in the folder of the copies, without the lock."""
    found = (cache / f"neuron-atlas-{os.getuid()}").iterdir()
    return sorted(p.name for p in found if not p.name.endswith(".lock"))


def test_local_copies_lie_in_a_folder_that_is_the_user_s_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_CACHE", str(tmp_path / "cache"))
    store = write_store(tmp_path / "run", [[Sentence(["a"])]])
    folder = tmp_path / "cache" / f"neuron-atlas-{os.getuid()}"
    for before in (None, 0o777):
        if before is not None:
            folder.chmod(before)
        open_sentences(store, "codes", "a" * 64)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    drop_sentences("a" * 64)
    folder.rename(tmp_path / "theirs")
    folder.symlink_to(tmp_path / "theirs")
    with pytest.raises(InputError, match=r"does not belong to you; set ATLAS_CACHE to another place"):
        open_sentences(store, "codes", "a" * 64)
    (tmp_path / "theirs" / "kept").touch()
    drop_sentences("a" * 64)
    assert (tmp_path / "theirs" / "kept").exists()
    folder.unlink()
    other = os.getuid() + 1
    (tmp_path / "theirs").rename(folder.with_name(f"neuron-atlas-{other}"))
    monkeypatch.setattr(os, "getuid", lambda: other)
    with pytest.raises(InputError, match="does not belong to you"):
        open_sentences(store, "codes", "a" * 64)


def test_the_local_copy_is_built_once_and_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_CACHE", str(tmp_path / "deep" / "cache"))
    store = write_store(tmp_path / "run", [[Sentence(["a"])]])
    open_sentences(store, "codes", "a" * 64)
    assert copies(tmp_path / "deep" / "cache") == [f"{'a' * 32}-{SCHEMA_VERSION}-folds"]
    store.delete("codes")
    assert list(open_sentences(store, "codes", "a" * 64).names["word"]) == ["a"]
    with pytest.raises(FileNotFoundError):
        open_sentences(store, "codes", "b" * 64)
    assert copies(tmp_path / "deep" / "cache") == [f"{'a' * 32}-{SCHEMA_VERSION}-folds"]
    for fingerprint in "aab":
        drop_sentences(fingerprint * 64)
    assert copies(tmp_path / "deep" / "cache") == []


def test_of_many_processes_that_ask_at_once_one_makes_the_copy(tmp_path: Path) -> None:
    store = write_store(tmp_path / "run", [random_sentences(i, 20) for i in range(3)])
    env = {**os.environ, "ATLAS_CACHE": str(tmp_path / "cache")}

    def begin(how: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", OPEN, store.uri, how]
        return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)

    with begin("dies") as dead:
        assert (dead.communicate()[0], dead.returncode) == ("built\n", -signal.SIGKILL)
    (left,) = copies(tmp_path / "cache")
    assert left.startswith(".")
    together = [begin("lives") for _ in range(3)]
    said = [process.communicate()[0].split() for process in together]
    assert sorted(said) == [["60"], ["60"], ["built", "60"]]
    assert copies(tmp_path / "cache") == [f"{'a' * 32}-{SCHEMA_VERSION}-folds"]


def test_the_copy_s_memory_is_that_of_its_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and batches of any size give the same arrays, byte for byte."""
    shards = [random_sentences(i, 30) for i in range(4)]
    whole = open_corpus(tmp_path / "a", monkeypatch, *shards)
    (tmp_path / "small").mkdir()
    for name, value in (("SHARDS", 1), ("WORDS", 2)):
        monkeypatch.setattr(f"ops.sentences.store.{name}", value)
    build_copy(Store(str(tmp_path / "a" / "run")), "codes", tmp_path / "small")
    files = {p.name: p.read_bytes() for p in Path(whole.sent_id.filename).parent.iterdir()}
    assert files == {p.name: p.read_bytes() for p in (tmp_path / "small").iterdir()}
    assert whole.documents == len({s.document for shard in shards for s in shard})
    assert np.array_equal(np.unique(whole.doc), np.arange(whole.documents))
