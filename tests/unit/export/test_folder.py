"""The folder of an export: complete or absent, and nothing in it is touched that export did not write."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ops.errors import InputError
from ops.export.folder import CARD, MANIFEST, PROVENANCE, check_folder, write_export
from tests.unit.export.small_export import CORPUS, TOPK, SmallRun, export, files


@pytest.fixture
def run(tmp_path: Path) -> SmallRun:
    return SmallRun(tmp_path / "run")


@pytest.fixture
def to(tmp_path: Path) -> Path:
    return tmp_path / "to"


def said(run: SmallRun, to: Path | str, **more: Any) -> str:
    """The one line by which an export is refused."""
    with pytest.raises(InputError) as found:
        export(run, to, **more)
    assert "\n" not in str(found.value)
    return str(found.value)


def test_the_list_names_every_file_with_its_size(run: SmallRun, to: Path) -> None:
    assert not export(run, to)
    found = files(to)
    listed = json.loads(found.pop(MANIFEST))
    assert (found[CORPUS], found[TOPK]) == (b"a corpus", b"the top")
    assert found.pop(CARD) == b"a card"
    assert listed["files"] == {name: len(data) for name, data in found.items()}
    assert (listed["tool"], listed["format"], listed["run"]) == ("neuron-atlas", "hub", "t")
    assert run.export().names == [CORPUS, TOPK, PROVENANCE, CARD, MANIFEST]
    assert sorted(os.listdir(to.parent)) == ["run", "to"]


def test_an_export_follows_its_run(run: SmallRun, to: Path) -> None:
    run.write("patterns", b"one", b"two")
    run.write("psi/tokens", b"three")
    export(run, to)
    run.write("patterns", b"another")
    del run.tables["psi/tokens"]
    run.write("mixing/norms", b"new")
    (to / TOPK).unlink()
    export(run, to, card="another card")
    found = files(to)
    assert found[CARD] == b"another card"
    assert {name: data for name, data in found.items() if "/" in name} == run.files()
    assert {p.name for p in to.iterdir()} == {CARD, PROVENANCE, MANIFEST, "corpus", "topk", "patterns", "mixing"}


def test_an_edited_card_stays(run: SmallRun, to: Path) -> None:
    export(run, to)
    (to / CARD).write_text("mine")
    run.write("patterns", b"new")
    for card in ("a card", "another card"):
        assert export(run, to, card=card)
        assert (to / CARD).read_text() == "mine"
    (to / CARD).unlink()
    assert not export(run, to)
    assert (to / CARD).read_text() == "a card"


def test_a_changed_file_is_named_and_stays(run: SmallRun, to: Path) -> None:
    run.write("patterns", b"one", b"two", b"three", b"four")
    export(run, to)
    del run.tables["patterns"]
    for path in [to / TOPK, *(to / "patterns").iterdir()]:
        path.write_bytes(b"my own")
    before = files(to)
    assert "or changed ones (patterns/part-00000.parquet, " in said(run, to)
    assert " and 2 more)" in said(run, to)
    assert files(to) == before


def put(path: Path, held: str = "mine") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(held)


FOREIGN: dict[str, Callable[[Path], object]] = {
    ".env": lambda to: put(to / ".env", "SECRET=1"),
    ".git": lambda to: put(to / ".git" / "config"),
    "empty": lambda to: (to / "empty").mkdir(parents=True),
    "topk/part-00001.parquet": lambda to: put(to / "topk" / "part-00001.parquet"),
    "a link": lambda to: (to / "a link").symlink_to(to.parent),
    "a pipe": lambda to: os.mkfifo(to / "a pipe"),
    "a\\nb": lambda to: put(to / "a\nb"),
    "\\udcff": lambda to: put(to / os.fsdecode(b"\xff")),
    "corpus": lambda to: (shutil.rmtree(to / "corpus", True), (to / "corpus").symlink_to(to.parent / "run" / "corpus")),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("exported", [True, False])
def test_what_export_did_not_write_is_named_and_stays(run: SmallRun, to: Path, name: str, exported: bool) -> None:
    to.mkdir()
    if exported:
        export(run, to)
    FOREIGN[name](to)
    before = files(to)
    names = sorted(os.listdir(to))
    found = said(run, to)
    assert f"--to {to}: holds other files" in found
    assert f"({name})" in found or not exported
    assert files(to) == before
    assert sorted(os.listdir(to)) == names


OLD = '{"tool": "neuron-atlas", "card": "a", "files": [{"name": "export.json"}]}'


@pytest.mark.parametrize("held", ["{", "[]", '{"tool": "other", "files": {}}', OLD, "[" * 100_000, "a pipe"])
def test_a_list_of_others_is_theirs(run: SmallRun, to: Path, held: str) -> None:
    to.mkdir()
    if held == "a pipe":
        os.mkfifo(to / MANIFEST)
    else:
        (to / MANIFEST).write_text(held)
    assert f"({MANIFEST})" in said(run, to)


def test_a_link_to_a_folder_is_that_folder(run: SmallRun, to: Path) -> None:
    real = to.parent / "real"
    real.mkdir()
    to.symlink_to(real)
    export(run, to)
    assert to.is_symlink()
    assert {CARD, PROVENANCE, MANIFEST, CORPUS, TOPK} == files(real).keys()
    run.write("patterns", b"new")
    export(run, to)
    assert to.is_symlink()
    assert "patterns/part-00000.parquet" in files(real)


def test_what_is_no_folder_is_refused_and_nothing_is_touched(
    run: SmallRun, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(to.parent))
    assert check_folder("~/to", run.store) == to.resolve()
    (to.parent / "nowhere").symlink_to(to.parent / "none")
    (to.parent / "circle").symlink_to(to.parent / "circle")
    (to.parent / "file").write_text("mine")
    (to.parent / "inside").symlink_to(run.folder)
    os.mkfifo(to.parent / "pipe")
    for names, why in (
        (("nowhere", "circle"), "is a broken link"),
        (("circle/new", "file/new", "x" * 300), "cannot be read and written"),
        (("file", "pipe"), "is a file"),
        (("inside", "inside/new", "run", "run/../run/topk"), "is inside the run's own folder"),
    ):
        for name in names:
            assert f"--to {to.parent}/{name}: {why}" in said(run, to.parent / name)
    assert "not a path on this machine" in said(run, "s3://bucket/key")
    assert "--to is missing" in said(run, "")
    assert sorted(os.listdir(to.parent)) == ["circle", "file", "inside", "nowhere", "pipe", "run"]
    assert {str(p) for p in files(run.folder)} == {CORPUS, TOPK}


def test_more_than_there_is_room_for_is_refused(run: SmallRun, to: Path) -> None:
    run.tables["topk"][0]["bytes"] = 1 << 62
    assert "bytes are to be copied, but only" in said(run, to)
    assert os.listdir(to.parent) == ["run"]


def test_what_changes_meanwhile_is_refused_and_the_earlier_export_stays(run: SmallRun, to: Path) -> None:
    export(run, to)
    before = files(to)
    for change in (lambda p: p.write_bytes(b"another top"), Path.unlink):
        change(run.folder / TOPK)
        assert f"{TOPK} changed while it was copied" in said(run, to)
        assert files(to) == before
    run.write("topk", b"the top")
    new = to.parent / "new"
    with pytest.raises(InputError, match=r"holds other files.* \(mine\)"):
        write_export(new, "--to new", run.export(), lambda: put(new / "mine"))
    assert files(new) == {"mine": b"mine"}
    assert sorted(os.listdir(to.parent)) == ["new", "run", "to"]


class Killed(BaseException):
    pass


def stop(folder: Path, run: SmallRun, monkeypatch: pytest.MonkeyPatch, step: int, error: BaseException) -> None:
    """Export a run, and fail at a step: after each of the three files, and at the two renames of the folders."""
    steps = 0

    def fail(*_: object) -> None:
        nonlocal steps
        steps += 1
        if steps == step + 1:
            raise error

    def rename(source: str, target: str, rename: Callable[..., None] = os.rename) -> None:
        fail()
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        write_export(folder, "--to it", run.export(), fail)


@pytest.mark.parametrize("step", range(5))
def test_a_stopped_export_leaves_the_earlier_one(
    run: SmallRun, to: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(run, to)
    before = files(to)
    run.write("patterns", b"new")
    with pytest.raises(Killed):
        stop(to, run, monkeypatch, step, Killed())
    assert files(to) == before
    assert sorted(os.listdir(to.parent)) == ["run", "to"]
    export(run, to)
    assert {name: data for name, data in files(to).items() if "/" in name} == run.files()


def test_a_full_disk_is_told_apart_from_a_folder_that_cannot_be_written(
    run: SmallRun, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, kind in ((errno.ENOSPC, OSError), (errno.EBUSY, InputError)):
        with pytest.raises(kind):
            stop(to, run, monkeypatch, 2, OSError(number, "no"))
        assert os.listdir(to.parent) == ["run"]


def test_another_format_and_another_run_are_refused(run: SmallRun, to: Path) -> None:
    export(run, to)
    before = files(to)
    assert f"--to {to}: holds an export of another run or in another format" in said(run, to, form="delphi")
    run.topk = "of another run"
    assert "of another run" in said(run, to)
    assert files(to) == before
